#pragma once
// What the chief of a group has waited for, beside the losses of the log.

#include <string>
#include <vector>

#include "core/estimator/train/input_waits.h"
#include "core/hosts/group.h"

namespace tpuest {

// Writes a line of the log: which share of the time since the line before was waited for the input,
// and for each other process's part of sums, and how much of it that one waited for its own input.
class GroupWaitsHook final : public WaitsHook {
 public:
  GroupWaitsHook(int64_t every, hosts::Group& group, Log& log, const Clock& clock)
      : WaitsHook(every, log, clock), group_(group) {}

 private:
  void Report(double seconds, double input_wait) override;
  void Begin() override;

  hosts::Group& group_;
  std::vector<double> waited_for_;  // before this line's time, by rank
  std::vector<double> inputs_;      // the same: what each had waited for its input
};

}  // namespace tpuest
