#pragma once
// Evaluations report their results as JSON and as lines.

#include <map>
#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "cli/shell/report.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

// {"accuracy": 0.9, "loss": 0.3}; a metric of several values is a list.
[[nodiscard]] Json MetricsJson(const EvaluateResult& result);
// Prints "accuracy = 0.9" on stdout, a line a metric with one value; `prefix` before each name.
// Then each confusion matrix as a table, with recall and precision of each class; `classes` are
// their names, without which they are numbers.
void PrintMetrics(const EvaluateResult& result, const std::string& prefix = "",
                  const std::vector<std::string>& classes = {});
// The names of a job's classes, from its label_vocabulary; empty: it has none.
[[nodiscard]] std::vector<std::string> ClassNamesOf(const Job& job);
// The metrics of one value as they are printed (0.9, not the float32 below it), with the prefix
// before each name; NaN where the value is no finite number.
[[nodiscard]] std::map<std::string, double> MetricNumbers(const EvaluateResult& result,
                                                          const std::string& prefix);

}  // namespace tpuest::cli
