#pragma once
// train_and_evaluate's saving listener: evaluates what was saved.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/eval_runner.h"

namespace tpuest {

// The checkpoint that a run starts from is not evaluated, unless its evaluation was cut. Each later
// one is, if throttle_secs have passed since the last evaluation began, and the last one in any
// case.
class EvaluationListener final : public CheckpointSaverListener {
 public:
  // `saved`: the state that the newest checkpoint holds, from memory.
  EvaluationListener(EstimatorContext& context, EvalRunner& runner,
                     std::function<SavedState()> saved)
      : context_(context), runner_(runner), saved_(std::move(saved)) {}

  void Begin() override;
  std::optional<std::string> AfterSave(int64_t step) override;
  void End(int64_t step) override;
  // Where checkpoints come by steps; throttle_secs may put it off.
  [[nodiscard]] std::optional<int64_t> NextEvaluation() const override;

  // Whether a run has begun: none does where max_steps was reached before.
  [[nodiscard]] bool has_begun() const { return !timers_.empty(); }
  // In the place of such a run, whose last checkpoint is of `step`: makes the evaluation that was
  // cut, if one was.
  void GoOnAfterEnd(int64_t step);
  // Whether a stop request has left the newest checkpoint to the run that goes on from it.
  [[nodiscard]] bool OwesEvaluation() const;

 private:
  struct Timer {
    std::optional<int64_t> step;  // of the last evaluation
    double seconds = 0;           // when it began
  };
  // Whether the task wants this checkpoint; a line of the log where it has to wait.
  [[nodiscard]] bool IsDue(size_t task, int64_t step) const;
  // The tasks that `wants` names, on the newest checkpoint.
  void Evaluate(int64_t step, const std::function<bool(size_t)>& wants);
  // Nothing is evaluated once the run is asked to leave.
  [[nodiscard]] bool IsLeaving(int64_t step);
  void Settle(int64_t step);

  EstimatorContext& context_;
  EvalRunner& runner_;
  std::function<SavedState()> saved_;
  std::vector<Timer> timers_;
  bool is_first_ = true;
  int64_t settled_ = 0;     // evaluations up to here are done with
  int64_t last_saved_ = 0;  // step of the checkpoint before
};

}  // namespace tpuest
