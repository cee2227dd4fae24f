#pragma once
// Logs what the chief of a group has waited for, beside the losses.

#include <string>
#include <vector>

#include "core/estimator/train/input_waits.h"
#include "core/hosts/group.h"

namespace tpuest {

// Logs the share of time since the previous line that was spent waiting for the input and for each
// other process's part of sums, and how much of the latter that process spent waiting for its own
// input.
class GroupWaitsHook final : public WaitsHook {
 public:
  GroupWaitsHook(int64_t every, hosts::Group& group, Log& log, const Clock& clock)
      : WaitsHook(every, log, clock), group_(group) {}

 private:
  void Report(double seconds, double input_wait) override;
  void Begin() override;

  hosts::Group& group_;
  std::vector<double> waited_for_;  // up to the previous line, by rank
  std::vector<double> inputs_;      // likewise, what each had waited for its input
};

}  // namespace tpuest
