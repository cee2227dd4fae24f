#pragma once
// A hook that does something once a formula over the numbers of a run holds.

#include <cstdint>
#include <string>
#include <vector>

#include "config/formula/expression.h"
#include "core/base/formula_text.h"
#include "core/estimator/contract/hooks.h"
#include "core/estimator/hooks/exec_hook.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// Whether a formula holds. Error kUsage, at the place in the formula, for a name that `values` does
// not have and for operands that do not fit.
[[nodiscard]] bool Holds(const Formula& formula, const config::Parameters& values);

// Looks at the numbers of each step: loss, loss_average (of the steps before it), learning_rate,
// step, and the summaries whose tags are names. It acts at the end of the loop in which the formula
// comes to hold, not again while it goes on to hold. What it knows of the steps so far is in the
// checkpoints: a run that was cut acts where one that was not would. In an evaluation or a
// prediction `step` is the number of the batch, and a prediction has no loss.
class ConditionHook final : public SessionRunHook {
 public:
  explicit ConditionHook(ConditionHookOptions options)
      : options_(std::move(options)), runner_("ConditionHook", options_.check) {}
  void Begin(HookHome& home) override;
  // Error kUsage for a name that the run does not have.
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] bool IsBeforeSaver() const override { return true; }

 private:
  struct State {
    double steps = 0;
    double average = 0;  // of the losses of these steps
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
  size_t place_ = 0;               // in ResumePoint::conditions
  std::vector<std::string> tags_;  // of the summaries, in their order
  bool has_learning_rate_ = false;
  bool names_summaries_ = false;
  bool has_loss_ = true;
  int64_t global_step_ = 0;  // outside of training
  State state_;
};

}  // namespace tpuest
