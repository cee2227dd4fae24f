#pragma once
// The global step that a run ends at.

#include <cstdint>
#include <optional>
#include <string>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/options/options.h"

namespace tpuest {

// The end of a run: where it is, and which option says so.
struct TrainGoal {
  std::optional<int64_t> step;  // nullopt: the end of the input
  std::string reason;           // "steps" or "max_steps"
  bool goes_on = false;         // the unfinished run is gone on with
};

// The goal of a run that starts at global step `start`. `steps` counts from there, but a run that
// was cut goes on to the step that it was meant for.
[[nodiscard]] TrainGoal GoalOf(const TrainLength& length, int64_t start,
                               const std::optional<Goal>& unfinished);

}  // namespace tpuest
