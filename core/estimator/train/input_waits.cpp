#include "core/estimator/train/input_waits.h"

#include <algorithm>

namespace tpuest {
namespace {

constexpr double kLeastShare = 0.2;
constexpr double kLeastSeconds = 0.5;

}  // namespace

void InputWaitsHook::AfterCreateSession(const SessionInfo& /*session*/) {
  begin_ = clock_.Seconds();
}

void InputWaitsHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  bool is_due = false;
  for (const StepRecord& record : values.steps) {
    waited_ += record.input_wait;
    is_due = is_due || record.step % every_ == 0;
  }
  if (!is_due) return;
  const double now = values.steps.back().seconds;
  const double waited = std::min(waited_, now - begin_);
  if (waited >= kLeastSeconds && waited >= kLeastShare * (now - begin_)) {
    log_.Info("waited {:.0f}% of {:.1f} s for the input{}", 100 * waited / (now - begin_),
              now - begin_,
              is_told_ ? ""
                       : "; num_parallel_calls, prefetch or cache of its input_fn may help, and "
                         "tpuest bench input tells which");
    is_told_ = true;
  }
  begin_ = now;
  waited_ = 0;
}

}  // namespace tpuest
