#pragma once
// Reports a sweep's trials as a table and as JSON.

#include <string>
#include <vector>

#include "cli/many/sweep/best.h"
#include "cli/shell/report.h"

namespace tpuest::cli {

// The trial's values, {"key": "value"}.
[[nodiscard]] Json OverridesJson(const Trial& trial);
// The best trial, {trial, path, overrides, metric, mode, value}.
[[nodiscard]] Json BestJson(const SweepFolder& folder, const TrialResult& best,
                            const MetricOrder& order);
// {path, job, trials: [{index, trial, path, overrides, status, exit_code, global_step, loss,
// metrics}], best}; `loss` is that of the last logged step, metrics are those of the last
// evaluations, best is null as long as no trial has a result.
[[nodiscard]] Json SweepJson(const SweepFolder& folder, const SweepRecord& record,
                             const std::vector<TrialResult>& results, const MetricOrder& order);
// Returns a table with a row per trial, and the best trial's folder.
[[nodiscard]] std::string SweepText(const SweepFolder& folder,
                                    const std::vector<TrialResult>& results,
                                    const MetricOrder& order);

}  // namespace tpuest::cli
