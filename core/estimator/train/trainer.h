#pragma once
// Estimator::Train: settles where a run starts and ends, and makes what its loop needs.

#include <memory>
#include <optional>

#include "core/base/files.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/train_step.h"
#include "core/estimator/train/train_session.h"

namespace tpuest {

class Trainer {
 public:
  explicit Trainer(EstimatorContext& context) : context_(context) {}

  TrainResult Train(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks);
  // What the newest checkpoint of the run holds, right after it was written: it shares the
  // variables.
  [[nodiscard]] SavedState Saved() const;
  // The global step with which the run, or the last one, is complete; nullopt: its input's end is.
  [[nodiscard]] const std::optional<int64_t>& goal() const { return goal_; }

 private:
  // What there is to say once all is found that can be found before the first step.
  TrainResult DryRun(const TrainPlan& plan);
  [[nodiscard]] TrainResult AlreadyDone(const SavedState& newest) const;
  TrainResult Run(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks,
                  std::optional<SavedState> newest, std::unique_ptr<FileLock> lock);
  // Makes model_dir and locks it, for a run whose folder was not there before.
  [[nodiscard]] std::unique_ptr<FileLock> StartRun(bool restored) const;
  void SettleGoal(const TrainLength& length, TrainPlan& plan);
  // The step for such a stream: the one that is there if its features are the same.
  [[nodiscard]] TrainStep& StepFor(const StreamSpec& stream);
  // The variables as the run starts with them.
  void LoadVariables(const Graph& graph, const TrainPlan& plan);
  [[nodiscard]] int64_t GlobalStep();
  // Compiles the step for the first batch.
  [[nodiscard]] InfeedArgs InfeedFor(const TrainPlan& plan, TrainStep& step, BatchStream& stream);

  EstimatorContext& context_;
  VariableStore variables_;
  std::unique_ptr<TrainStep> step_;
  std::optional<int64_t> goal_;
};

}  // namespace tpuest
