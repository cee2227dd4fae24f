#include "core/base/step_count.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace tpuest {

void StepCount::Resolve(double steps_per_epoch) {
  // Up to here a double holds every whole number.
  constexpr double kMost = 9007199254740992;
  if (!in_epochs()) return;
  steps_ = static_cast<int64_t>(std::clamp(std::round(epochs_ * steps_per_epoch), 1.0, kMost));
}

std::string StepCount::Text() const {
  return in_epochs() ? NumberText(epochs_) + "ep" : std::to_string(steps_);
}

}  // namespace tpuest
