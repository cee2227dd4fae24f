#pragma once
// The counts of steps that a job gives in epochs ("max_steps: 10ep"): which there are, and the
// steps that they are of its training input.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// The steps of one epoch of the training input, not rounded: its examples by those of a step. It is
// opened for that, which may mean reading all of it. nullopt: the input does not know its length,
// or a step its examples.
[[nodiscard]] std::optional<double> StepsOfEpoch(const Job& job);

// A count in epochs: "train_spec.max_steps", "10ep", 313.
struct EpochCount {
  std::string key;
  std::string written;
  int64_t steps = 0;

  // "train_spec.max_steps: 10ep is 313 steps"
  [[nodiscard]] std::string Text() const;
};
// Makes all of the counts in epochs steps, of a job with a train_spec: the input is opened where
// there is one such count. A second call has nothing to do. Error kUsage with a fault at each,
// where the length of an epoch is not known.
std::vector<EpochCount> ResolveStepCounts(Job& job);

// The faults of counts in epochs where no training counts: in hooks of an evaluation.
[[nodiscard]] std::vector<Fault> CheckStepCounts(const Job& job);

}  // namespace tpuest::cli
