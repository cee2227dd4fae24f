#pragma once
// Summarizes the folds of a cross-validation.

#include <string>
#include <vector>

#include "cli/run/record/compare.h"
#include "cli/shell/report.h"

namespace tpuest::cli {

// A metric summarized over the folds.
struct FoldMetric {
  std::string name;
  std::vector<double> values;  // the last value of each run, in their order
  double mean = 0;
  double deviation = 0;  // the values' standard deviation, with n - 1
};

// Returns the evaluation metrics that all runs have. Error kUsage if they share none, if a run was
// not trained on a fold, and if two runs have the same fold.
[[nodiscard]] std::vector<FoldMetric> FoldMetrics(const std::vector<ComparedRun>& runs);

// {runs, folds: {METRIC: {mean, deviation, values}}}.
[[nodiscard]] Json FoldsJson(const std::vector<ComparedRun>& runs,
                             const std::vector<FoldMetric>& metrics);
// Returns a line per metric with mean, deviation and values, for a person to read.
[[nodiscard]] std::string FoldsText(const std::vector<ComparedRun>& runs,
                                    const std::vector<FoldMetric>& metrics);

// Returns the run folders directly below `folder`, by name. For a folder that is a run, returns its
// folds, or the folder itself if it has none. Returns a missing folder unchanged.
[[nodiscard]] std::vector<std::string> RunsBelow(const std::string& folder);

}  // namespace tpuest::cli
