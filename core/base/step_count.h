#pragma once
// A count of steps as a job writes it: "500", or "10ep", which becomes a count once the number of
// steps per epoch of the training input is available.

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace tpuest {

// Converts to an integer. A count in epochs is 1 until Resolve, so a check whether it is positive
// needs no data.
class StepCount {
 public:
  StepCount() = default;
  StepCount(int64_t steps) : steps_(steps) {}  // NOLINT: a number of steps is a count
  // A count of `epochs` epochs; `epochs` > 0.
  [[nodiscard]] static StepCount OfEpochs(double epochs) {
    StepCount count(1);
    count.epochs_ = epochs;
    return count;
  }

  operator int64_t() const { return steps_; }  // NOLINT: see above
  [[nodiscard]] bool in_epochs() const { return epochs_ > 0; }
  // Converts a count in epochs to the nearest number of steps, at least 1.
  void Resolve(double steps_per_epoch);
  // The count as it was written.
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
