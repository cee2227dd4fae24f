#pragma once
// TensorFlow's SecondOrStepTimer: tells a hook that acts at intervals when it is due.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace tpuest {

class SecondOrStepTimer {
 public:
  // Exactly one of the two must be given.
  SecondOrStepTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs)
      : every_steps_(every_steps), every_secs_(every_secs) {}

  // Whether the hook is due at this step and time (seconds): always before the first Trigger.
  [[nodiscard]] bool IsDue(int64_t step, double now) const {
    if (!last_step_) return true;
    if (*last_step_ == step) return false;
    if (every_secs_) return now >= last_seconds_ + *every_secs_;
    return step >= *last_step_ + *every_steps_;
  }
  void Trigger(int64_t step, double now) {
    last_step_ = step;
    last_seconds_ = now;
  }
  // Returns to the state before the first Trigger.
  void Reset() { last_step_.reset(); }
  [[nodiscard]] std::optional<int64_t> last_step() const { return last_step_; }
  [[nodiscard]] double last_seconds() const { return last_seconds_; }
  // The first step after this one at which the hook is due; no step if it counts seconds.
  [[nodiscard]] int64_t NextDue(int64_t step) const {
    if (!last_step_) return step + 1;
    if (!every_steps_) return std::numeric_limits<int64_t>::max();
    return std::max(*last_step_ + *every_steps_, step + 1);
  }
  // The number of steps between triggers; 0 if it counts seconds.
  [[nodiscard]] int64_t period() const { return every_steps_.value_or(0); }

 private:
  std::optional<int64_t> every_steps_;
  std::optional<double> every_secs_;
  std::optional<int64_t> last_step_;
  double last_seconds_ = 0;
};

}  // namespace tpuest
