#pragma once
// `tpuest compare --folds`: what the folds of a cross-validation say together.

#include <string>
#include <vector>

#include "cli/run/record/compare.h"
#include "cli/shell/report.h"

namespace tpuest::cli {

struct FoldMetric {
  std::string name;
  std::vector<double> values;  // the last of each run, in their order
  double mean = 0;
  double deviation = 0;  // of the values: with n - 1
};

// The metrics of evaluations that all runs have. Error kUsage where they have none, where a run has
// no fold, and where two have the same.
[[nodiscard]] std::vector<FoldMetric> FoldMetrics(const std::vector<ComparedRun>& runs);

// {runs, folds: {METRIC: {mean, deviation, values}}}.
[[nodiscard]] Json FoldsJson(const std::vector<ComparedRun>& runs,
                             const std::vector<FoldMetric>& metrics);
[[nodiscard]] std::string FoldsText(const std::vector<ComparedRun>& runs,
                                    const std::vector<FoldMetric>& metrics);

// Run folders directly below one, by name; where it is a run, its folds, or itself without any.
[[nodiscard]] std::vector<std::string> RunsBelow(const std::string& folder);

}  // namespace tpuest::cli
