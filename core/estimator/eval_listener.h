#pragma once
// train_and_evaluate's saving listener: evaluates checkpoints as they are saved.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/eval_runner.h"
#include "core/estimator/model_dir/evaluations.h"

namespace tpuest {

// Evaluates each checkpoint if throttle_secs have passed since the last evaluation began, and the
// last one in any case. The checkpoint that a run starts from is evaluated only if its evaluation
// was interrupted.
class EvaluationListener final : public CheckpointSaverListener {
 public:
  // `saved` returns the contents of the newest checkpoint, from memory.
  EvaluationListener(EstimatorContext& context, EvalRunner& runner,
                     std::function<SavedState()> saved, std::function<bool()> is_restored)
      : context_(context),
        runner_(runner),
        saved_(std::move(saved)),
        is_restored_(std::move(is_restored)) {}

  void Begin() override;
  std::optional<std::string> AfterSave(int64_t step) override;
  void End(int64_t step) override;
  // Returns the step of the next evaluation if checkpoints come by steps; throttle_secs may delay
  // it.
  [[nodiscard]] std::optional<int64_t> NextEvaluation() const override;

  // Whether a run has begun: none begins if max_steps was already reached.
  [[nodiscard]] bool has_begun() const { return !timers_.empty(); }
  // Takes the place of such a run, whose last checkpoint is `checkpoint`, at `step`: repeats its
  // evaluation if that was interrupted.
  void GoOnAfterEnd(int64_t step, const std::string& checkpoint);
  // Whether a stop request left the evaluation of the newest checkpoint, at `step`, to the resumed
  // run.
  [[nodiscard]] bool OwesEvaluation(int64_t step) const;

 private:
  struct Timer {
    std::optional<int64_t> step;  // step of the last evaluation
    double seconds = 0;           // when it began
  };
  // Whether the task's every_steps asks for an evaluation.
  [[nodiscard]] bool IsDueByStep(size_t task, int64_t step) const;
  // Whether the task evaluates this checkpoint. Logs a line if throttle_secs delays it.
  [[nodiscard]] bool IsDue(size_t task, int64_t step) const;
  // Evaluates the newest checkpoint with the tasks that `wants` accepts.
  void Evaluate(int64_t step, const std::function<bool(size_t)>& wants);
  // Checks the checkpoint that the run starts from; returns whether its evaluation was interrupted.
  [[nodiscard]] bool OwesFirst(int64_t step);
  // Returns how far evaluations are complete in a run that resumes from `step`.
  [[nodiscard]] std::optional<SettledStep> Settled(int64_t step) const;
  void Settle(SettledStep settled);
  // Labels returns all evaluations, OpenAt those that are still to be made if the run ends at this
  // step.
  [[nodiscard]] std::set<std::string> Labels() const;
  [[nodiscard]] std::set<std::string> OpenAt(int64_t step) const;

  EstimatorContext& context_;
  EvalRunner& runner_;
  std::function<SavedState()> saved_;
  std::function<bool()> is_restored_;
  std::vector<Timer> timers_;
  bool is_first_ = true;
  int64_t first_step_ = 0;  // of the checkpoint that the run starts from
  SettledStep settled_;     // evaluations up to here are complete
  int64_t last_saved_ = 0;  // step of the previous checkpoint
};

}  // namespace tpuest
