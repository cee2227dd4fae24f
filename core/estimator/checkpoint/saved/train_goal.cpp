#include "core/estimator/checkpoint/saved/train_goal.h"

namespace tpuest {

TrainGoal GoalOf(const TrainLength& length, int64_t start, const std::optional<Goal>& unfinished) {
  if (!length.steps) return {length.max_steps, length.max_steps ? "max_steps" : ""};
  const bool goes_on = unfinished && unfinished->steps == *length.steps && unfinished->step > start;
  return {goes_on ? unfinished->step : start + *length.steps, "steps", goes_on};
}

}  // namespace tpuest
