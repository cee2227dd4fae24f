#pragma once
// The counts of steps that a job gives in epochs ("max_steps: 10ep"): finds them and converts them
// to steps of the training input.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns the steps of one epoch of the training input, not rounded: its examples divided by the
// examples per step. Opens the input, which may require reading all of it. nullopt if the length of
// the input or the number of examples per step is unknown.
[[nodiscard]] std::optional<double> StepsOfEpoch(const Job& job);

// A count in epochs: "train_spec.max_steps", "10ep", 313.
struct EpochCount {
  std::string key;
  std::string written;
  int64_t steps = 0;

  // "train_spec.max_steps: 10ep is 313 steps"
  [[nodiscard]] std::string Text() const;
};
// Converts all counts in epochs of a job with a train_spec to steps; opens the input only if the
// job has such a count. A second call changes nothing. Error kUsage, with a fault at each count, if
// the length of an epoch is unknown.
std::vector<EpochCount> ResolveStepCounts(Job& job);

// Returns the faults of counts in epochs where epochs have no meaning: in hooks of an evaluation.
[[nodiscard]] std::vector<Fault> CheckStepCounts(const Job& job);

}  // namespace tpuest::cli
