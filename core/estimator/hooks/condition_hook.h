#pragma once
// A hook that acts once a formula over the numbers of a run becomes true.

#include <cstdint>
#include <string>
#include <vector>

#include "config/formula/expression.h"
#include "core/base/formula_text.h"
#include "core/estimator/contract/hooks.h"
#include "core/estimator/hooks/exec_hook.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// Whether a formula is true. Throws Error kUsage, at the place in the formula, for a name that
// `values` lacks and for operands that do not fit.
[[nodiscard]] bool Holds(const Formula& formula, const config::Parameters& values);

// Evaluates the formula for each step on loss, loss_average (of the steps before it),
// learning_rate, step, and the summaries whose tags are names. It acts at the end of the loop in
// which the formula becomes true, and not again while it stays true. Checkpoints contain its state,
// so a resumed run acts at the same step as a run that was never stopped. In an evaluation or a
// prediction `step` is the number of the batch; a prediction has no loss.
class ConditionHook final : public SessionRunHook {
 public:
  explicit ConditionHook(ConditionHookOptions options)
      : options_(std::move(options)), runner_("ConditionHook", options_.check) {}
  void Begin(HookHome& home) override;
  // Throws Error kUsage for a name that the run does not have.
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] bool IsBeforeSaver() const override { return true; }

 private:
  struct State {
    double steps = 0;
    double average = 0;  // mean loss of these steps
    bool holds = false;  // at the last step
    bool is_due = false;
    bool has_stopped = false;
  };
  [[nodiscard]] config::Parameters ValuesOf(const StepRecord& record) const;
  void Look(const StepRecord& record);
  void Act(RunContext& context, int64_t global_step);
  void Restore();
  void Keep() const;

  ConditionHookOptions options_;
  CommandRunner runner_;
  HookHome* home_ = nullptr;
  size_t place_ = 0;               // index in ResumePoint::conditions
  std::vector<std::string> tags_;  // of the summaries, in their order
  bool has_learning_rate_ = false;
  bool names_summaries_ = false;
  bool has_loss_ = true;
  int64_t global_step_ = 0;  // outside training
  State state_;
};

}  // namespace tpuest
