#pragma once
// Reports whether training waits for its input, beside the losses in the log.

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/hooks.h"

namespace tpuest {

// Reports after each loop that contains a multiple of log_step_count_steps how long the run has
// waited since the previous report.
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
  // `input_wait`: how many of `seconds` this process spent waiting for its input.
  virtual void Report(double seconds, double input_wait) = 0;
  // Called when the time of the next report begins.
  virtual void Begin() {}

  const int64_t every_;
  Log& log_;
  const Clock& clock_;
  double begin_ = 0;
  double input_wait_ = 0;  // seconds since then
};

// Logs a line if the run spent at least a fifth of the time, and at least half a second, waiting
// for the input; once per run with a hint.
class InputWaitsHook final : public WaitsHook {
 public:
  using WaitsHook::WaitsHook;

 private:
  void Report(double seconds, double input_wait) override;

  bool is_told_ = false;
};

}  // namespace tpuest
