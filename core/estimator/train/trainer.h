#pragma once
// Estimator::Train: settles where a run starts and ends, and makes what its loop needs.

#include <map>
#include <memory>
#include <optional>

#include "core/base/files.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model_builder.h"
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
  struct Compiled {
    BuiltModel model;
    std::unique_ptr<WeightSummaries> weights;
    std::unique_ptr<Distributions> distributions;
    std::unique_ptr<StepPrograms> programs;
  };

  // What there is to say once all is found that can be found before the first step.
  TrainResult DryRun(const TrainPlan& plan);
  [[nodiscard]] TrainResult AlreadyDone(const SavedState& newest) const;
  TrainResult Run(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks,
                  std::optional<SavedState> newest, std::unique_ptr<FileLock> lock);
  // Makes model_dir and locks it, for a run whose folder was not there before.
  [[nodiscard]] std::unique_ptr<FileLock> StartRun(bool restored) const;
  void SettleGoal(const TrainLength& length, TrainPlan& plan);
  // The model for a global batch of so many rows, built on first use.
  Compiled& ModelFor(int64_t rows);
  // The step for such batches, compiled on first use; the variables are there.
  [[nodiscard]] TrainStep StepOf(const Batch& batch, StepTrace* trace = nullptr);
  [[nodiscard]] bool Broadcasts() const;  // every replica gets the whole batch
  [[nodiscard]] CompileOptions Options(StepTrace* trace = nullptr) const;
  std::shared_ptr<StepProgram> Compile(const Compiled& made, const std::vector<Shape>& shapes,
                                       StepTrace* trace = nullptr);
  // Forgets what was built for another stream's features.
  void KeepSpec(const StreamSpec& spec);
  // The variables as the run starts with them.
  void LoadVariables(const Graph& graph, const TrainPlan& plan);
  [[nodiscard]] int64_t GlobalStep();
  [[nodiscard]] InfeedArgs InfeedFor(const TrainPlan& plan, BatchStream& stream);

  EstimatorContext& context_;
  VariableStore variables_;
  std::optional<StreamSpec> spec_;
  std::map<int64_t, Compiled> compiled_;  // by rows of the global batch
  std::optional<int64_t> goal_;
};

}  // namespace tpuest
