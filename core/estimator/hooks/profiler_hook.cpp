#include "core/estimator/hooks/profiler_hook.h"

#include "core/base/process/files.h"
#include "core/estimator/hooks/chrome_trace.h"

namespace tpuest {

void ProfilerHook::Begin(HookHome& home) {
  home_ = &home;
  trace_.emplace(home.clock);
  if (!home.trains()) {  // each evaluation counts its own batches
    has_run_ = false;
    batches_ = 0;
    timer_.Reset();
  }
  if (!output_dir_.empty()) MakeDirectories(output_dir_);
}

// A traced step is the first of its loop, so with an interval in steps the previous loop must end
// before it.
void ProfilerHook::BeforeRun(RunContext& context) {
  traced_.reset();
  if (!has_run_) return context.LimitIterations(1);
  const int64_t step = (home_->trains() ? context.global_step() : batches_) + 1;
  if (timer_.IsDue(step, home_->clock.Seconds())) {
    traced_ = step;
    trace_->Clear();
    context.TraceFirstStep(&*trace_);
    if (timer_.period() > 0) context.LimitIterations(timer_.period());
    return;
  }
  if (timer_.period() > 0) context.LimitIterations(*timer_.last_step() + timer_.period() - step);
}

void ProfilerHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  if (!values.steps.empty()) has_run_ = true;
  if (!home_->trains()) ++batches_;
  if (!traced_ || (home_->trains() && values.global_step < *traced_)) return;
  const int64_t shown = home_->trains() ? *traced_ : values.global_step;
  const std::string path = JoinPath(output_dir_, fmt::format("timeline-{}.json", shown));
  home_->log.Info("Saving timeline for {} into '{}'.", shown, path);
  WriteFileAtomically(path, ChromeTrace(*trace_), false);
  timer_.Trigger(*traced_, home_->clock.Seconds());
}

}  // namespace tpuest
