#pragma once
// What the chief of a group has waited for, beside the losses of the log.

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/hooks.h"
#include "core/hosts/group.h"

namespace tpuest {

// Writes a line of the log after each loop with a step that is a multiple of log_step_count_steps:
// which share of the time since the line before was waited for the input, and for each other
// process's part of sums, and how much of it that one waited for its own input.
class GroupWaitsHook final : public SessionRunHook {
 public:
  GroupWaitsHook(int64_t every, Group& group, Log& log, const Clock& clock)
      : every_(every), group_(group), log_(log), clock_(clock) {}
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return every_; }
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }

 private:
  void Report(double seconds);
  // Begins the next line's time.
  void Begin(double now);

  const int64_t every_;
  Group& group_;
  Log& log_;
  const Clock& clock_;
  double begin_ = 0;
  double input_wait_ = 0;           // since then
  std::vector<double> waited_for_;  // before that, by rank
  std::vector<double> inputs_;      // the same: what each had waited for its input
};

}  // namespace tpuest
