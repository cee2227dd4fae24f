#pragma once
// tf.compat.v1.estimator.tpu.TPUEstimator: trains, evaluates and predicts with a model_fn,
// input_fns and options.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/calls.h"
#include "core/estimator/options/options.h"

namespace tpuest {

struct NotFiniteTensor;         // core/estimator/step/first_not_finite.h
struct EvalTask;                // core/estimator/train_and_evaluate.h
struct TrainAndEvaluateResult;  // in the same header
struct FollowArgs;              // in the same header
struct FollowResult;            // in the same header

// The inputs of what a chief may order; those of other calls may be absent.
struct ChiefsInputs {
  InputFn train;
  std::map<std::string, InputFn> evaluations;  // by EvaluateArgs::label
  InputFn predict;
};

class Estimator {
 public:
  // Error kUsage with every fault of the options. Without model_dir a temporary folder is made and
  // named in a warning.
  Estimator(ModelFn model_fn, EstimatorOptions options, const EstimatorHome& home);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Lets a run without a checkpoint begin under the first rule for ops with a seed of their own
  // (ResumePoint::seeds_by_name), so that an older run can be trained again from its start.
  void StartByNames();
  // Trains; resumes model_dir if it holds a checkpoint. Errors as Trainer::Train's.
  TrainResult Train(const InputFn& input_fn, const TrainLength& length,
                    const TrainHooks& hooks = {});
  // Trains, evaluates and predicts as the chief of home.group says, which this process is not:
  // writes nothing. Throws what the inputs and the group throw.
  TrainResult FollowChief(const ChiefsInputs& inputs);
  // A hook for Train and TrainAndEvaluate of this Estimator: InMemoryEvaluatorHook, by the task's
  // label, input_fn, args and hooks.
  [[nodiscard]] std::unique_ptr<SessionRunHook> InMemoryEvaluator(EvalTask task,
                                                                  int64_t every_n_iter);
  // Evaluates a checkpoint: the one that args name, the newest of model_dir, or fresh variables
  // where there is none. Errors as Evaluator::Evaluate's.
  EvaluateResult Evaluate(const InputFn& input_fn, const EvaluateArgs& args = {});
  // tf.estimator.train_and_evaluate in one process: evaluates and exports after every checkpoint.
  // A run that was cut goes on with the evaluations, exports and best checkpoints it would have
  // had. Error kUsage where nothing is saved.
  TrainAndEvaluateResult TrainAndEvaluate(const InputFn& input_fn, const TrainLength& length,
                                          const TrainHooks& hooks, std::vector<EvalTask> tasks);
  // TensorFlow's evaluator task: evaluates and exports the newest checkpoints that another process
  // leaves in model_dir, until that run is over. Errors as Follower::Run's.
  FollowResult Follow(const FollowArgs& args, std::vector<EvalTask> tasks);
  // Predicts and gives the rows to `row`, in the order of the input. Errors as
  // Predictor::Predict's.
  PredictResult Predict(const InputFn& input_fn, const PredictArgs& args, const RowCallback& row);

  // Writes a SavedModel to <export_dir_base>/<seconds>. Error kCheckpoint where there is no trained
  // model, kGate where verifying finds a difference; nothing is left then.
  ExportResult ExportSavedModel(const ExportArgs& args);
  // Compares a SavedModel with what the model gives with a checkpoint: a prefix, or the
  // SavedModel's own folder for its own variables. Error kGate where they differ.
  VerifyResult VerifySavedModel(const std::string& folder, const VerifyArgs& args,
                                const std::string& checkpoint);

  // The first tensor that is not finite in the training step of a global batch of this stream,
  // which starts from the newest checkpoint of model_dir and changes nothing; nullopt: there is
  // none.
  [[nodiscard]] std::optional<NotFiniteTensor> FindNotFinite(const StreamSpec& stream,
                                                             const Batch& batch) const;

  [[nodiscard]] const std::string& model_dir() const;
  // The options with everything put in that was absent.
  [[nodiscard]] const EstimatorOptions& options() const;
  // The replicas that train.
  [[nodiscard]] int replicas() const;
  // The prefix of the newest checkpoint in model_dir, or nullopt.
  [[nodiscard]] std::optional<std::string> LatestCheckpoint() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tpuest
