#pragma once
// The arguments and results of train_and_evaluate, in addition to those of Train.

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

// An exporter and the arguments of its exports; folder and checkpoint are filled in later.
struct ExporterTask {
  AnyExporter options;
  ExportArgs args;
};

// An EvalSpec with the input_fn, hooks and exporters that it names.
struct EvalTask {
  std::string label;  // in results and in metrics.jsonl
  InputFn input_fn;
  EvaluateArgs args;                      // steps and name
  std::shared_ptr<const JobHooks> hooks;  // called in each evaluation; may be null
  double start_delay_secs = 0;
  double throttle_secs = 0;
  std::optional<int64_t> every_steps;
  std::vector<ExporterTask> exporters;
};

struct TrainAndEvaluateResult {
  TrainResult train;
  // The last evaluation of each EvalSpec, by label; empty if nothing was evaluated.
  std::map<std::string, EvaluateResult> evaluations;
  // The path of the last export of each exporter, by its name.
  std::map<std::string, std::string> exports;
};

// The state of a model_dir's run, as seen by another process.
enum class TrainerState {
  kNone,         // no run has started
  kTraining,     // a process holds the run's lock
  kGone,         // the run is unfinished, and no process trains
  kPreempted,    // saved, to be run again
  kInterrupted,  // ended by Ctrl-C
  kFailed,
  kDone
};
// Whether no more checkpoints follow unless the run is started again.
[[nodiscard]] constexpr bool IsOver(TrainerState state) {
  return state == TrainerState::kInterrupted || state == TrainerState::kFailed ||
         state == TrainerState::kDone;
}

struct FollowArgs {
  std::optional<int64_t> max_steps;
  double deadline_secs = 600;  // the longest time without a trainer and a new checkpoint
  std::function<TrainerState()> trainer;
  std::function<void(double secs)> sleep;  // may return early
};

struct FollowResult {
  std::map<std::string, EvaluateResult> evaluations;  // as in TrainAndEvaluateResult
  std::map<std::string, std::string> exports;
  std::string stopped_because;  // "max_steps", "the run ended", "the run was interrupted"
};

}  // namespace tpuest
