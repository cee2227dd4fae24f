#pragma once
// The work of train_and_evaluate for a checkpoint: evaluates it by an EvalSpec, keeps it if it is
// among the best, and calls the exporters.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/estimator/evaluate/evaluator.h"
#include "core/estimator/export/exporter.h"
#include "core/estimator/export/saved_model_writer.h"
#include "core/estimator/model_dir/best_checkpoints.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/train_and_evaluate.h"

namespace tpuest {

struct EvalRunnerArgs {
  EstimatorContext& context;
  Evaluator& evaluator;
  SavedModelWriter& saved_models;
  std::vector<EvalTask> tasks;
  std::function<std::optional<int64_t>()> goal;  // global step; nullopt: there is none
};

class EvalRunner {
 public:
  explicit EvalRunner(EvalRunnerArgs args);

  [[nodiscard]] const std::vector<EvalTask>& tasks() const { return args_.tasks; }
  // Whether training ends with this step.
  [[nodiscard]] bool IsLast(int64_t step) const {
    const std::optional<int64_t> goal = args_.goal();
    return goal && step >= *goal;
  }
  // Removes the exports and best checkpoints that an interrupted run made after `step`. For
  // evaluations whose label is in `again`, also removes the exports and lines at `step`, since they
  // will be repeated.
  void GoOnFrom(int64_t step, const std::set<std::string>& again);
  // Evaluates the checkpoint of this prefix with one of the tasks, keeps it if it is among the
  // best, and exports. Throws Error kUsage if the evaluation lacks the metric of keep_best, and
  // errors of evaluating and exporting.
  const EvaluateResult& Run(size_t task, const std::string& checkpoint);

  // The last result of each task that ran, by label, and the path of each exporter's last export,
  // by name.
  [[nodiscard]] const std::map<std::string, EvaluateResult>& results() const { return results_; }
  [[nodiscard]] const std::map<std::string, std::string>& exports() const { return exports_; }

 private:
  void Export(size_t task, const Evaluated& evaluated, const std::string& checkpoint);
  void KeepIfBest(size_t task, const Evaluated& evaluated, const std::string& checkpoint);
  // Whether the task's evaluations decide which checkpoints are kept.
  [[nodiscard]] bool Judges(size_t task) const;

  EvalRunnerArgs args_;
  std::vector<std::vector<std::unique_ptr<Exporter>>> exporters_;  // per task
  std::optional<BestCheckpoints> best_;                            // nullopt: none are kept
  std::map<std::string, EvaluateResult> results_;
  std::map<std::string, std::string> exports_;
};

}  // namespace tpuest
