#pragma once
// A run's memory of its evaluations: one that was cut goes on with the same choices.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tpuest {

// The metrics of the evaluation `label` at this global step, from metrics.jsonl; empty if there is
// none. They are floats, as in events; a value that was not finite is NaN.
[[nodiscard]] std::map<std::string, float> EvaluationAt(const std::string& model_dir,
                                                        const std::string& label, int64_t step);

// The same, but from the events of the evaluation's folder where metrics.jsonl lacks it.
[[nodiscard]] std::map<std::string, float> EvaluationOrEventsAt(const std::string& model_dir,
                                                                const std::string& label,
                                                                int64_t step);

// The step of the last evaluation before `step`; nullopt: there is none.
[[nodiscard]] std::optional<int64_t> LastEvaluationBefore(const std::string& model_dir,
                                                          int64_t step);

// How far train_and_evaluate has evaluated, exported and kept what it wanted:
// .tpuest/evaluated.json, {"global_step": 20}. A checkpoint past the step is one whose evaluation
// was cut. Evaluations that were not due at this step are open there, {"global_step": 20, "open":
// ["test"]}: the end of a run makes them.
struct SettledStep {
  int64_t step = 0;
  std::set<std::string> open;  // labels
};
// nullopt: there was no such run, or the file is damaged.
[[nodiscard]] std::optional<SettledStep> ReadSettledStep(const std::string& model_dir);
// Whether the file is there, and is damaged.
[[nodiscard]] bool IsSettledStepDamaged(const std::string& model_dir);
void WriteSettledStep(const std::string& model_dir, const SettledStep& settled);

}  // namespace tpuest
