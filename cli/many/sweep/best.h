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

// A trial with its state and its curves.
struct TrialResult {
  Trial trial;
  TrialStatus status;
  RunSeries series;
};

// Returns one result per trial, in the record's order; a trial that has not begun has no curves.
[[nodiscard]] std::vector<TrialResult> ReadResults(const SweepFolder& folder,
                                                   const SweepRecord& record);

// Returns the order that decides the job's best checkpoint: keep_best, otherwise its first
// BestExporter, otherwise the smallest loss.
[[nodiscard]] MetricOrder OrderOf(const Job& job);

// The order of the flags --metric and --mode; omitted flags are taken from the record, or from the
// metric's name. Error kUsage if it is unknown whether more of the metric is better.
[[nodiscard]] MetricOrder ChosenOrder(const MetricOrder& recorded,
                                      const std::optional<std::string>& metric,
                                      const std::optional<std::string>& mode);

// The last value of the metric; NaN if the trial has none.
[[nodiscard]] double ValueOf(const TrialResult& result, const MetricOrder& order);

// Returns the best finished trial, the first of equals, pointing into `results`; nullptr if none
// has the metric.
[[nodiscard]] const TrialResult* BestOf(const std::vector<TrialResult>& results,
                                        const MetricOrder& order);

}  // namespace tpuest::cli
