#pragma once
// A count of steps as a job writes it: "500", or "10ep", which is a count once it is known how many
// steps an epoch of the training input takes.

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace tpuest {

// Code takes a count for the integer that it is. One that was written in epochs is 1 until
// Resolve, so that what only asks whether it is positive needs no look at the data.
class StepCount {
 public:
  StepCount() = default;
  StepCount(int64_t steps) : steps_(steps) {}  // NOLINT: a number of steps is a count
  // A count of so many epochs; `epochs` is more than 0.
  [[nodiscard]] static StepCount OfEpochs(double epochs) {
    StepCount count(1);
    count.epochs_ = epochs;
    return count;
  }

  operator int64_t() const { return steps_; }  // NOLINT: see above
  [[nodiscard]] bool in_epochs() const { return epochs_ > 0; }
  // Makes a count in epochs the nearest whole number of steps, at least 1.
  void Resolve(double steps_per_epoch);
  // As it was written.
  [[nodiscard]] std::string Text() const;

 private:
  int64_t steps_ = 0;
  double epochs_ = 0;  // 0: it was written in steps
};

}  // namespace tpuest

template <>
struct fmt::formatter<tpuest::StepCount> : fmt::formatter<int64_t> {
  template <class Context>
  auto format(const tpuest::StepCount& count, Context& context) const {
    return fmt::formatter<int64_t>::format(int64_t{count}, context);
  }
};
