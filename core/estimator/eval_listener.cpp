#include "core/estimator/eval_listener.h"

#include <algorithm>
#include <utility>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/evaluations.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/train/trainer.h"
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

// A preemption checkpoint is not evaluated, because the run resumes from the checkpoint before it.
bool EvaluationListener::OwesFirst(int64_t step) {
  const std::optional<CutRun> cut = saved_().resume.cut;
  last_saved_ = cut ? cut->saved : step;
  const std::optional<SettledStep> settled = Settled(step);
  const bool owes = !cut && settled && settled->step < step;
  first_step_ = step;
  if (is_restored_()) runner_.GoOnFrom(step, owes ? Labels() : std::set<std::string>());
  if (owes) {
    settled_ = *settled;
  } else {
    const bool is_known = settled && settled->step == last_saved_;
    Settle({.step = last_saved_, .open = is_known ? settled->open : Labels()});
  }
  return owes;
}

void EvaluationListener::End(int64_t step) {
  if (context_.home.stop.requested()) return;
  const std::set<std::string> open = OpenAt(step);
  if (open.empty()) return;
  // The previous run may have been killed during these evaluations.
  if (is_restored_() && step == first_step_) runner_.GoOnFrom(step, open);
  Evaluate(step, [&](size_t task) { return open.contains(runner_.tasks()[task].label); });
}

std::set<std::string> EvaluationListener::Labels() const {
  std::set<std::string> labels;
  for (const EvalTask& task : runner_.tasks()) labels.insert(task.label);
  return labels;
}

std::set<std::string> EvaluationListener::OpenAt(int64_t step) const {
  return settled_.step == step ? settled_.open : Labels();
}

std::optional<int64_t> EvaluationListener::NextEvaluation() const {
  const std::optional<int64_t> saves = context_.options.run_config.save_checkpoints_steps;
  if (!saves || *saves <= 0) return std::nullopt;
  std::optional<int64_t> next;
  for (const EvalTask& task : runner_.tasks()) {
    const int64_t every = task.every_steps.value_or(1);
    const int64_t from = std::max((settled_.step / every + 1) * every, last_saved_ + 1);
    // Checkpoints come every `saves` steps; this is the first one from `from` on.
    const int64_t step = last_saved_ + (from - last_saved_ + *saves - 1) / *saves * *saves;
    next = std::min(next.value_or(step), step);
  }
  return next;
}

// A checkpoint without a record of its evaluation is evaluated again.
std::optional<SettledStep> EvaluationListener::Settled(int64_t step) const {
  const bool is_damaged = step > 0 && IsSettledStepDamaged(context_.model_dir);
  if (!is_damaged) return ReadSettledStep(context_.model_dir);
  context_.home.log.Warning("{}: is damaged; repeating the evaluation of step {}",
                            SettledStepPath(context_.model_dir), step);
  return SettledStep{.step = LastEvaluationBefore(context_.model_dir, step).value_or(0)};
}

void EvaluationListener::GoOnAfterEnd(int64_t step, const std::string& checkpoint) {
  if (context_.home.stop.requested() || !DirectoryExists(PrivateDir(context_.model_dir))) return;
  const std::unique_ptr<RunLock> lock = LockRun(context_);
  // Another process has resumed the run.
  if (LatestCheckpoint(context_.model_dir) != checkpoint) return;
  const std::optional<SettledStep> settled = Settled(step);
  const bool owes_all = settled && settled->step < step;
  const bool owes_some = settled && settled->step == step;
  const std::set<std::string> owed = owes_all    ? Labels()
                                     : owes_some ? settled->open
                                                 : std::set<std::string>();
  runner_.GoOnFrom(step, owed);
  if (owed.empty()) return;
  settled_ = *settled;
  // First the evaluations due at the checkpoint, then those at the run's end.
  for (const bool by_steps : {true, false}) {
    for (size_t task = 0; task < runner_.tasks().size(); ++task) {
      const bool is_owed = owed.contains(runner_.tasks()[task].label);
      if (is_owed && IsDueByStep(task, step) == by_steps) (void)runner_.Run(task, checkpoint);
    }
  }
  Settle({.step = step});
}

bool EvaluationListener::OwesEvaluation(int64_t step) const {
  const std::optional<SettledStep> settled = ReadSettledStep(context_.model_dir);
  return settled && (settled->step < step || (settled->step == step && !settled->open.empty()));
}

bool EvaluationListener::IsDueByStep(size_t task, int64_t step) const {
  const std::optional<int64_t> every = runner_.tasks()[task].every_steps;
  return !every || step / *every != settled_.step / *every;
}

bool EvaluationListener::IsDue(size_t task, int64_t step) const {
  const EvalTask& of = runner_.tasks()[task];
  const Timer& timer = timers_[task];
  if (!IsDueByStep(task, step)) return false;
  if (!timer.step) return true;
  if (*timer.step == step) return false;
  if (context_.home.clock.Seconds() >= timer.seconds + of.throttle_secs) return true;
  context_.home.log.Info("Skip the current checkpoint eval due to throttle secs ({} secs).",
                         NumberText(of.throttle_secs));
  return false;
}

void EvaluationListener::Evaluate(int64_t step, const std::function<bool(size_t)>& wants) {
  // The values to save are in memory, so nothing is read from the disk.
  struct Sharing {
    explicit Sharing(EstimatorContext& of) : context(of) {}
    ~Sharing() { context.in_memory.reset(); }
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;
    EstimatorContext& context;
  } sharing(context_);
  context_.in_memory = saved_();
  const std::string checkpoint = context_.in_memory->prefix;
  std::set<std::string> open = OpenAt(step);
  try {
    for (size_t task = 0; task < timers_.size(); ++task) {
      if (!wants(task)) continue;
      open.erase(runner_.tasks()[task].label);
      timers_[task] = {step, context_.home.clock.Seconds()};
      (void)runner_.Run(task, checkpoint);
    }
  } catch (const Error&) {
    if (!context_.home.stop.requested()) throw;
    return;  // the run that resumes from this checkpoint repeats it
  }
  Settle({.step = step, .open = std::move(open)});
}

void EvaluationListener::Settle(SettledStep settled) {
  settled_ = std::move(settled);
  WriteSettledStep(context_.model_dir, settled_);
}

}  // namespace tpuest
