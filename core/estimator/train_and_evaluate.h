#pragma once
// What train_and_evaluate takes and gives, beside what Train does.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/estimator.h"
#include "core/estimator/eval_spec.h"
#include "core/estimator/hook_factory.h"

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

}  // namespace tpuest
