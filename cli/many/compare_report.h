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
  std::vector<Parting>
      partings;  // one per run except the first: where it begins to differ from the first
  bool has_baseline = false;  // the first run is the baseline of the others

  [[nodiscard]] bool differs() const;
  // Returns the names of everything that can have made the runs differ: paths of keys, then
  // version, device, cpu, input.
  [[nodiscard]] std::vector<std::string> Candidates() const;
};

// A result of a run beside the baseline's.
struct BaselineChange {
  std::string metric;
  double difference = 0;      // to the baseline
  std::optional<bool> worse;  // nullopt if it is unknown whether more is better
};
// Returns the results that both have, in the baseline's order.
[[nodiscard]] std::vector<BaselineChange> ChangesFrom(const ComparedRun& baseline,
                                                      const ComparedRun& run);

// With a baseline each other run also has `changes: {METRIC: {difference, worse}}`. {runs: [{path,
// global_step, version, device, cpu, input, metrics}], keys: [{key, values, can_change_bits}],
// partings: [{run, losses: {step, values} | null, common_losses, parameters: {step, variables, of}
// | null, common_checkpoints}], candidates}.
[[nodiscard]] Json CompareJson(const CompareReport& report);
// Tables for a person. Longer values than 40 characters are cut.
[[nodiscard]] std::string CompareText(const CompareReport& report);

}  // namespace tpuest::cli
