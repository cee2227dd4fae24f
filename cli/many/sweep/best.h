#pragma once
// Finds the best trial of a sweep.

#include <optional>
#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "cli/many/sweep/folder.h"
#include "cli/run/record/series.h"
#include "core/estimator/contract/metric_order.h"

namespace tpuest::cli {

// A trial, and the state and the curves that it came to.
struct TrialResult {
  Trial trial;
  TrialStatus status;
  RunSeries series;
};

// One result a trial, in the record's order; one that has not begun has no curves.
[[nodiscard]] std::vector<TrialResult> ReadResults(const SweepFolder& folder,
                                                   const SweepRecord& record);

// The order by which the job tells its best checkpoint: keep_best, else its first BestExporter,
// else the smallest loss.
[[nodiscard]] MetricOrder OrderOf(const Job& job);

// The order of the flags --metric and --mode; what they leave out is the record's, or what the
// metric's name says. Error kUsage for a metric of which nobody knows whether more is better.
[[nodiscard]] MetricOrder ChosenOrder(const MetricOrder& recorded,
                                      const std::optional<std::string>& metric,
                                      const std::optional<std::string>& mode);

// The last value of the metric; NaN where the trial has none.
[[nodiscard]] double ValueOf(const TrialResult& result, const MetricOrder& order);

// The best of the trials that are done; of equal ones the first. nullptr where none has the metric.
// It points into `results`.
[[nodiscard]] const TrialResult* BestOf(const std::vector<TrialResult>& results,
                                        const MetricOrder& order);

}  // namespace tpuest::cli
