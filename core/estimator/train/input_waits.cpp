#include "core/estimator/train/input_waits.h"

#include <algorithm>

namespace tpuest {
namespace {

constexpr double kLeastShare = 0.2;
constexpr double kLeastSeconds = 0.5;

}  // namespace

void WaitsHook::AfterCreateSession(const SessionInfo& /*session*/) {
  begin_ = clock_.Seconds();
  Begin();
}

void WaitsHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  bool is_due = false;
  for (const StepRecord& record : values.steps) {
    input_wait_ += record.input_wait;
    is_due = is_due || record.step % every_ == 0;
  }
  if (!is_due) return;
  const double now = values.steps.back().seconds;
  Report(now - begin_, input_wait_);
  begin_ = now;
  input_wait_ = 0;
  Begin();
}

void InputWaitsHook::Report(double seconds, double input_wait) {
  const double waited = std::min(input_wait, seconds);
  if (waited < kLeastSeconds || waited < kLeastShare * seconds) return;
  log().Info("waited {:.0f}% of {:.1f} s for the input{}", 100 * waited / seconds, seconds,
             is_told_ ? ""
                      : "; num_parallel_calls, prefetch or cache of its input_fn may help, and "
                        "tpuest bench input tells which");
  is_told_ = true;
}

}  // namespace tpuest
