#pragma once
// The global step at which a run ends.

#include <cstdint>
#include <optional>
#include <string>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/options/options.h"

namespace tpuest {

// The end of a run: its step, and the option that sets it.
struct TrainGoal {
  std::optional<int64_t> step;  // nullopt: the end of the input
  std::string reason;           // "steps" or "max_steps"
  bool goes_on = false;         // true if this continues an unfinished run
};

// Returns the goal of a run that starts at global step `start`. `steps` counts from there, but an
// interrupted run continues to its original goal.
[[nodiscard]] TrainGoal GoalOf(const TrainLength& length, int64_t start,
                               const std::optional<Goal>& unfinished);

}  // namespace tpuest
