#pragma once
// The folds of a cross-validation, joined.

#include <string>
#include <vector>

#include "cli/run/record/compare.h"
#include "cli/shell/report.h"

namespace tpuest::cli {

// A metric over the folds.
struct FoldMetric {
  std::string name;
  std::vector<double> values;  // the last value of each run, in their order
  double mean = 0;
  double deviation = 0;  // the values' standard deviation, with n - 1
};

// The metrics that all runs have from evaluations. Error kUsage where they have none, where a run
// has no fold, and where two have the same fold.
[[nodiscard]] std::vector<FoldMetric> FoldMetrics(const std::vector<ComparedRun>& runs);

// {runs, folds: {METRIC: {mean, deviation, values}}}.
[[nodiscard]] Json FoldsJson(const std::vector<ComparedRun>& runs,
                             const std::vector<FoldMetric>& metrics);
// Lines for a person: a metric each, with mean, deviation and values.
[[nodiscard]] std::string FoldsText(const std::vector<ComparedRun>& runs,
                                    const std::vector<FoldMetric>& metrics);

// The run folders directly below `folder`, by name. A folder that is a run has its folds, or itself
// where there are none; one that does not exist is returned as it is.
[[nodiscard]] std::vector<std::string> RunsBelow(const std::string& folder);

}  // namespace tpuest::cli
