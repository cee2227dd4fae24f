#pragma once
// The findings of `tpuest compare`, as text and as JSON.

#include <optional>
#include <string>
#include <vector>

#include "cli/run/record/compare.h"
#include "cli/shell/report.h"

namespace tpuest::cli {

struct CompareReport {
  std::vector<ComparedRun> runs;
  std::vector<KeyDifference> keys;
  std::vector<KeyDifference> program;
  std::vector<Parting> partings;  // one a run but the first: where it leaves the first
  bool has_baseline = false;      // the first run is what the others are measured by

  [[nodiscard]] bool differs() const;
  // The names of all that can have made the runs differ: paths of keys, then version, device, cpu,
  // input.
  [[nodiscard]] std::vector<std::string> Candidates() const;
};

// A result of a run beside the baseline's.
struct BaselineChange {
  std::string metric;
  double difference = 0;      // to the baseline
  std::optional<bool> worse;  // nullopt: it is not known whether more is better
};
// The results that both have, in the baseline's order.
[[nodiscard]] std::vector<BaselineChange> ChangesFrom(const ComparedRun& baseline,
                                                      const ComparedRun& run);

// With a baseline each other run has `changes: {METRIC: {difference, worse}}`, too.
// {runs: [{path, global_step, version, device, cpu, input, metrics}], keys: [{key, values,
// can_change_bits}], partings: [{run, losses: {step, values} | null, common_losses, parameters:
// {step, variables, of} | null, common_checkpoints}], candidates}.
[[nodiscard]] Json CompareJson(const CompareReport& report);
// Tables for a person. Longer values than 40 characters are cut.
[[nodiscard]] std::string CompareText(const CompareReport& report);

}  // namespace tpuest::cli
