#pragma once
// Whether a training waits for its input, beside the losses of the log.

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/hooks.h"

namespace tpuest {

// Reports after each loop with a step that is a multiple of log_step_count_steps what the time
// since the one before was waited for.
class WaitsHook : public SessionRunHook {
 public:
  WaitsHook(int64_t every, Log& log, const Clock& clock)
      : every_(every), log_(log), clock_(clock) {}
  void AfterCreateSession(const SessionInfo& session) final;
  void AfterRun(RunContext& context, const RunValues& values) final;
  [[nodiscard]] int64_t Period() const final { return every_; }
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const final { return kNeverLooks; }

 protected:
  [[nodiscard]] Log& log() const { return log_; }

 private:
  // Of so many seconds, those that this process waited for its input.
  virtual void Report(double seconds, double input_wait) = 0;
  // The next report's time begins.
  virtual void Begin() {}

  const int64_t every_;
  Log& log_;
  const Clock& clock_;
  double begin_ = 0;
  double input_wait_ = 0;  // since then
};

// Writes a line if a fifth and half a second or more of the time were waited for the input; once in
// a run with what may help.
class InputWaitsHook final : public WaitsHook {
 public:
  using WaitsHook::WaitsHook;

 private:
  void Report(double seconds, double input_wait) override;

  bool is_told_ = false;
};

}  // namespace tpuest
