#pragma once
// What train_and_evaluate takes and gives, beside what Train does.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/calls.h"
#include "core/estimator/hooks/hook_factory.h"
#include "core/estimator/options/eval_spec.h"

namespace tpuest {

// An exporter with what it exports: `args` but for folder and checkpoint.
struct ExporterTask {
  AnyExporter options;
  ExportArgs args;
};

// An EvalSpec joined with its parts.
struct EvalTask {
  std::string label;  // in results and in metrics.jsonl
  InputFn input_fn;
  EvaluateArgs args;                      // steps and name
  std::shared_ptr<const JobHooks> hooks;  // of each evaluation; may be null
  double start_delay_secs = 0;
  double throttle_secs = 0;
  std::optional<int64_t> every_steps;
  std::vector<ExporterTask> exporters;
};

struct TrainAndEvaluateResult {
  TrainResult train;
  // By label, the last evaluation of each; empty where nothing was evaluated.
  std::map<std::string, EvaluateResult> evaluations;
  // By exporter, the path of the last export that it made.
  std::map<std::string, std::string> exports;
};

// How the run of a model_dir stands, as another process sees it.
enum class TrainerState {
  kNone,         // no run has started
  kTraining,     // a process holds the run's lock
  kGone,         // the run goes on, and no process trains
  kPreempted,    // saved, and to be run again
  kInterrupted,  // by Ctrl-C
  kFailed,
  kDone
};
// Whether nothing more is saved unless somebody starts it again.
[[nodiscard]] constexpr bool IsOver(TrainerState state) {
  return state == TrainerState::kInterrupted || state == TrainerState::kFailed ||
         state == TrainerState::kDone;
}

struct FollowArgs {
  std::optional<int64_t> max_steps;
  double deadline_secs = 600;  // without a trainer and a new checkpoint
  std::function<TrainerState()> trainer;
  std::function<void(double secs)> sleep;  // may return early
};

struct FollowResult {
  std::map<std::string, EvaluateResult> evaluations;  // as TrainAndEvaluateResult's
  std::map<std::string, std::string> exports;
  std::string stopped_because;  // "max_steps", "the run ended", "the run was interrupted"
};

}  // namespace tpuest
