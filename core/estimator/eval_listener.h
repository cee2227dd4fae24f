#pragma once
// train_and_evaluate's saving listener: evaluates the checkpoints as they are saved.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/eval_runner.h"
#include "core/estimator/model_dir/evaluations.h"

namespace tpuest {

// The checkpoint that a run starts from is not evaluated, unless its evaluation was cut. Each later
// one is, if throttle_secs have passed since the last evaluation began, and the last one in any
// case.
class EvaluationListener final : public CheckpointSaverListener {
 public:
  // `saved` gives the contents of the newest checkpoint, from memory.
  EvaluationListener(EstimatorContext& context, EvalRunner& runner,
                     std::function<SavedState()> saved, std::function<bool()> is_restored)
      : context_(context),
        runner_(runner),
        saved_(std::move(saved)),
        is_restored_(std::move(is_restored)) {}

  void Begin() override;
  std::optional<std::string> AfterSave(int64_t step) override;
  void End(int64_t step) override;
  // The next step to evaluate at, where checkpoints come by steps; throttle_secs may put it off.
  [[nodiscard]] std::optional<int64_t> NextEvaluation() const override;

  // Whether a run has begun: none begins if max_steps was reached before.
  [[nodiscard]] bool has_begun() const { return !timers_.empty(); }
  // Stands in for such a run, whose last checkpoint is `checkpoint`, of `step`: makes the
  // evaluation that was cut, if one was.
  void GoOnAfterEnd(int64_t step, const std::string& checkpoint);
  // Whether a stop request has left the newest checkpoint, of `step`, to the run that goes on from
  // it.
  [[nodiscard]] bool OwesEvaluation(int64_t step) const;

 private:
  struct Timer {
    std::optional<int64_t> step;  // the last evaluation's
    double seconds = 0;           // when it began
  };
  // Whether every_steps of the task asks for an evaluation.
  [[nodiscard]] bool IsDueByStep(size_t task, int64_t step) const;
  // Whether the task wants this checkpoint. Logs a line if it has to wait for throttle_secs.
  [[nodiscard]] bool IsDue(size_t task, int64_t step) const;
  // Evaluates the newest checkpoint by the tasks that `wants` accepts.
  void Evaluate(int64_t step, const std::function<bool(size_t)>& wants);
  // Looks at the checkpoint that the run begins with. Whether its evaluation was cut.
  [[nodiscard]] bool OwesFirst(int64_t step);
  // How far evaluations are done, of a run that goes on from `step`.
  [[nodiscard]] std::optional<SettledStep> Settled(int64_t step) const;
  void Settle(SettledStep settled);
  // All evaluations, and those that are to be made yet if the run ends at this step.
  [[nodiscard]] std::set<std::string> Labels() const;
  [[nodiscard]] std::set<std::string> OpenAt(int64_t step) const;

  EstimatorContext& context_;
  EvalRunner& runner_;
  std::function<SavedState()> saved_;
  std::function<bool()> is_restored_;
  std::vector<Timer> timers_;
  bool is_first_ = true;
  int64_t first_step_ = 0;  // of the checkpoint that the run begins with
  SettledStep settled_;     // evaluations up to here are done with
  int64_t last_saved_ = 0;  // step of the checkpoint before
};

}  // namespace tpuest
