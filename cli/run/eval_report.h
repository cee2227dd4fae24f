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
// Prints a line per metric with one value to stdout, "accuracy = 0.9", with `prefix` before each
// name. Then prints each confusion matrix as a table with recall and precision per class; `classes`
// are the names of the classes, which are numbered if it is empty.
void PrintMetrics(const EvaluateResult& result, const std::string& prefix = "",
                  const std::vector<std::string>& classes = {});
// Returns the names of a job's classes from its label_vocabulary; empty if it has none.
[[nodiscard]] std::vector<std::string> ClassNamesOf(const Job& job);
// Returns the metrics with one value as they are printed (0.9, not the nearest float32), with
// `prefix` before each name; NaN for a value that is not finite.
[[nodiscard]] std::map<std::string, double> MetricNumbers(const EvaluateResult& result,
                                                          const std::string& prefix);

}  // namespace tpuest::cli
