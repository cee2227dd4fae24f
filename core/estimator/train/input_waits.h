#pragma once
// Whether a training waits for its input, beside the losses of the log.

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/hooks.h"

namespace tpuest {

// Writes a line of the log after each loop with a step that is a multiple of log_step_count_steps,
// if a fifth and half a second or more of the time since the one before were waited for the input;
// once in a run with what may help.
class InputWaitsHook final : public SessionRunHook {
 public:
  InputWaitsHook(int64_t every, Log& log, const Clock& clock)
      : every_(every), log_(log), clock_(clock) {}
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return every_; }
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }

 private:
  const int64_t every_;
  Log& log_;
  const Clock& clock_;
  double begin_ = 0;
  double waited_ = 0;  // since then, in seconds
  bool is_told_ = false;
};

}  // namespace tpuest
