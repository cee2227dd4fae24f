#include "core/estimator/eval_listener.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/estimator/checkpoint/evaluations.h"
#include "core/estimator/checkpoint/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {

void EvaluationListener::Begin() {
  timers_.assign(runner_.tasks().size(), {});
  is_first_ = true;
}

std::optional<std::string> EvaluationListener::AfterSave(int64_t step) {
  if (is_first_) {
    is_first_ = false;
    if (!OwesFirst(step)) return std::nullopt;
  }
  if (context_.home.stop.requested()) return std::nullopt;
  Evaluate(step, [&](size_t task) { return IsDue(task, step); });
  last_saved_ = step;
  return std::nullopt;
}

// What only a stop request has saved is not evaluated: the run goes on from the checkpoint before.
bool EvaluationListener::OwesFirst(int64_t step) {
  const std::optional<CutRun> cut = saved_().resume.cut;
  last_saved_ = cut ? cut->saved : step;
  const std::optional<int64_t> settled = cut ? std::nullopt : Settled(step);
  const bool owes = !cut && settled && *settled < step;
  settled_ = owes ? *settled : last_saved_;
  if (step > 0) runner_.GoOnFrom(step, owes);
  if (!owes) Settle(settled_);
  return owes;
}

void EvaluationListener::End(int64_t step) {
  if (context_.home.stop.requested()) return;
  const auto is_open = [&](size_t task) { return timers_[task].step != step; };
  for (size_t task = 0; task < timers_.size(); ++task) {
    if (is_open(task)) return Evaluate(step, is_open);
  }
}

std::optional<int64_t> EvaluationListener::NextEvaluation() const {
  const std::optional<int64_t> saves = context_.options.run_config.save_checkpoints_steps;
  if (!saves || *saves <= 0) return std::nullopt;
  std::optional<int64_t> next;
  for (const EvalTask& task : runner_.tasks()) {
    const int64_t every = task.every_steps.value_or(1);
    const int64_t from = std::max((settled_ / every + 1) * every, last_saved_ + 1);
    // Checkpoints come every `saves` steps: this is the first from `from` on.
    const int64_t step = last_saved_ + (from - last_saved_ + *saves - 1) / *saves * *saves;
    next = std::min(next.value_or(step), step);
  }
  return next;
}

// Where nothing tells whether the checkpoint was evaluated, it is evaluated again.
std::optional<int64_t> EvaluationListener::Settled(int64_t step) const {
  const bool is_damaged = step > 0 && IsSettledStepDamaged(context_.model_dir);
  if (!is_damaged) return ReadSettledStep(context_.model_dir);
  context_.home.log.Warning("{}: is damaged; the evaluation of step {} is made again",
                            SettledStepPath(context_.model_dir), step);
  return LastEvaluationBefore(context_.model_dir, step).value_or(0);
}

void EvaluationListener::GoOnAfterEnd(int64_t step, const std::string& checkpoint) {
  const std::optional<int64_t> settled = Settled(step);
  if (!settled || *settled >= step || context_.home.stop.requested()) return;
  runner_.GoOnFrom(step, true);
  for (size_t task = 0; task < runner_.tasks().size(); ++task) (void)runner_.Run(task, checkpoint);
  Settle(step);
}

bool EvaluationListener::OwesEvaluation(int64_t step) const {
  const std::optional<int64_t> settled = ReadSettledStep(context_.model_dir);
  return settled && *settled < step;
}

bool EvaluationListener::IsDue(size_t task, int64_t step) const {
  const EvalTask& of = runner_.tasks()[task];
  const Timer& timer = timers_[task];
  if (of.every_steps && step / *of.every_steps == settled_ / *of.every_steps) return false;
  if (!timer.step) return true;
  if (*timer.step == step) return false;
  if (context_.home.clock.Seconds() >= timer.seconds + of.throttle_secs) return true;
  context_.home.log.Info("Skip the current checkpoint eval due to throttle secs ({} secs).",
                         NumberText(of.throttle_secs));
  return false;
}

void EvaluationListener::Evaluate(int64_t step, const std::function<bool(size_t)>& wants) {
  // The saved values are at hand: nothing is read back from the disk.
  struct Sharing {
    explicit Sharing(EstimatorContext& of) : context(of) {}
    ~Sharing() { context.in_memory.reset(); }
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;
    EstimatorContext& context;
  } sharing(context_);
  context_.in_memory = saved_();
  const std::string checkpoint = context_.in_memory->prefix;
  try {
    for (size_t task = 0; task < timers_.size(); ++task) {
      if (!wants(task)) continue;
      timers_[task] = {step, context_.home.clock.Seconds()};
      (void)runner_.Run(task, checkpoint);
    }
  } catch (const Error&) {
    if (!context_.home.stop.requested()) throw;
    return;  // the run that goes on from this checkpoint makes it anew
  }
  Settle(step);
}

void EvaluationListener::Settle(int64_t step) {
  settled_ = step;
  WriteSettledStep(context_.model_dir, step);
}

}  // namespace tpuest
