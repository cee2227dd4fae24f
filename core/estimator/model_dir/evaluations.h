#pragma once
// A run's record of its evaluations, with which a resumed run makes the same choices.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tpuest {

// Returns the metrics of the evaluation `label` at this global step from metrics.jsonl; empty if
// there is none. They are floats, as in events; a value that was not finite is NaN.
[[nodiscard]] std::map<std::string, float> EvaluationAt(const std::string& model_dir,
                                                        const std::string& label, int64_t step);

// The same, but from the events in the evaluation's folder if metrics.jsonl lacks it.
[[nodiscard]] std::map<std::string, float> EvaluationOrEventsAt(const std::string& model_dir,
                                                                const std::string& label,
                                                                int64_t step);

// Returns the step of the last evaluation before `step`, or nullopt.
[[nodiscard]] std::optional<int64_t> LastEvaluationBefore(const std::string& model_dir,
                                                          int64_t step);

// How far train_and_evaluate has completed evaluations, exports and keep_best:
// .tpuest/evaluated.json, {"global_step": 20}. If a checkpoint is past that step, its evaluation
// was interrupted. Evaluations that were not due at this step are open, {"global_step": 20, "open":
// ["test"]}: the end of a run makes them.
struct SettledStep {
  int64_t step = 0;
  std::set<std::string> open;  // labels
};
// Returns nullopt if there was no such run, or if the file is damaged.
[[nodiscard]] std::optional<SettledStep> ReadSettledStep(const std::string& model_dir);
// Whether the file exists and is damaged.
[[nodiscard]] bool IsSettledStepDamaged(const std::string& model_dir);
void WriteSettledStep(const std::string& model_dir, const SettledStep& settled);

}  // namespace tpuest
