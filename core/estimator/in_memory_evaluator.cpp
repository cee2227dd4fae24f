#include "core/estimator/in_memory_evaluator.h"

#include <memory>
#include <utility>

#include "core/base/process/heap.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {

void InMemoryEvaluatorHook::AfterCreateSession(const SessionInfo& session) {
  has_begun_ = true;
  evaluated_.reset();
  const int64_t step = session.global_step;
  if (MetricsLog(context_.model_dir).HasEvaluation(step, task_.label)) {
    evaluated_ = step;
  } else if (step % every_n_iter_ == 0) {
    Evaluate(step);
  }
}

void InMemoryEvaluatorHook::BeforeRun(RunContext& context) {
  context.LimitIterations(every_n_iter_ - context.global_step() % every_n_iter_);
}

void InMemoryEvaluatorHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  if (values.diverged || values.is_cut || values.global_step % every_n_iter_ != 0) return;
  Evaluate(values.global_step);
}

void InMemoryEvaluatorHook::End(int64_t global_step) { Evaluate(global_step); }

void InMemoryEvaluatorHook::Settle(TrainResult& result) {
  const bool has_begun = std::exchange(has_begun_, false);
  const StopSignal& stop = context_.home.stop;
  if (context_.home.dry_run || result.checkpoint.empty() || result.exit_code != 0) return;
  if (evaluated_ == result.global_step && has_begun) return;
  if (!has_begun && !stop.requested()) {
    const std::unique_ptr<RunLock> lock = LockRun(context_);
    const MetricsLog metrics(context_.model_dir);
    // Another process has resumed the run.
    if (LatestCheckpoint(context_.model_dir) != result.checkpoint) return;
    if (!metrics.HasEvaluation(result.global_step, task_.label)) Make(result.checkpoint);
  }
  if (!stop.requested()) return;
  result.exit_code = ExitCodeOf(stop);
  result.stopped_because = ReasonOf(stop);
}

void InMemoryEvaluatorHook::Evaluate(int64_t global_step) {
  if (evaluated_ == global_step || context_.home.stop.requested()) return;
  struct Sharing {
    Sharing(EstimatorContext& of, SavedState state) : context(of) {
      context.in_memory = std::move(state);
    }
    ~Sharing() { context.in_memory.reset(); }
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;
    EstimatorContext& context;
  } sharing(context_, trainer_.InMemory(""));
  Make("");
  if (!context_.home.stop.requested()) evaluated_ = global_step;
}

void InMemoryEvaluatorHook::Make(const std::string& checkpoint) {
  EvaluateArgs args = task_.args;
  args.checkpoint = checkpoint;
  args.label = task_.label;
  if (task_.hooks != nullptr) args.hooks = task_.hooks->hooks();
  try {
    (void)evaluator_.Evaluate(task_.input_fn, args);
  } catch (const Error&) {
    if (!context_.home.stop.requested()) throw;
    return;  // the run that resumes from here repeats it
  }
  ReturnFreeMemory();
}

}  // namespace tpuest
