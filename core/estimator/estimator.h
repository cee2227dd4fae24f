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

// The inputs for everything that a chief may request; those of other calls may be absent.
struct ChiefsInputs {
  InputFn train;
  std::map<std::string, InputFn> evaluations;  // by EvaluateArgs::label
  InputFn predict;
};

class Estimator {
 public:
  // Throws Error kUsage with every fault of the options. Without model_dir, creates a temporary
  // folder and names it in a warning.
  Estimator(ModelFn model_fn, EstimatorOptions options, const EstimatorHome& home);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Makes a run without a checkpoint start under the older rule for ops with their own seed
  // (ResumePoint::seeds_by_name), so that an older run can be trained again from its start.
  void StartByNames();
  // Trains; resumes if model_dir contains a checkpoint. Throws as Trainer::Train does.
  TrainResult Train(const InputFn& input_fn, const TrainLength& length,
                    const TrainHooks& hooks = {});
  // For a process that is not the chief of home.group: trains, evaluates and predicts as the chief
  // requests, and writes nothing. Throws errors of the inputs and the group.
  TrainResult FollowChief(const ChiefsInputs& inputs);
  // Returns a hook for Train and TrainAndEvaluate of this Estimator: InMemoryEvaluatorHook, with
  // the task's label, input_fn, args and hooks.
  [[nodiscard]] std::unique_ptr<SessionRunHook> InMemoryEvaluator(EvalTask task,
                                                                  int64_t every_n_iter);
  // Evaluates a checkpoint: the one in args, the newest of model_dir, or fresh variables if there
  // is none. Throws as Evaluator::Evaluate does.
  EvaluateResult Evaluate(const InputFn& input_fn, const EvaluateArgs& args = {});
  // tf.estimator.train_and_evaluate in one process: evaluates and exports after every checkpoint. A
  // resumed run continues with the evaluations, exports and best checkpoints that it would have had
  // without the stop. Throws Error kUsage if no checkpoints are saved.
  TrainAndEvaluateResult TrainAndEvaluate(const InputFn& input_fn, const TrainLength& length,
                                          const TrainHooks& hooks, std::vector<EvalTask> tasks);
  // TensorFlow's evaluator task: evaluates and exports the newest checkpoints that another process
  // writes to model_dir, until that run is over. Throws as Follower::Run does.
  FollowResult Follow(const FollowArgs& args, std::vector<EvalTask> tasks);
  // Predicts and passes the rows to `row`, in the order of the input. Throws as Predictor::Predict
  // does.
  PredictResult Predict(const InputFn& input_fn, const PredictArgs& args, const RowCallback& row);

  // Writes a SavedModel to <export_dir_base>/<seconds>. Throws Error kCheckpoint if there is no
  // trained model, kGate if verification finds a difference; leaves no files then.
  ExportResult ExportSavedModel(const ExportArgs& args);
  // Compares a SavedModel with the model's results for a checkpoint: a prefix, or the SavedModel's
  // own folder for its own variables. Throws Error kGate if they differ.
  VerifyResult VerifySavedModel(const std::string& folder, const VerifyArgs& args,
                                const std::string& checkpoint);

  // Returns the first tensor that is not finite in the training step of a global batch of this
  // stream; nullopt if all are. The step uses the newest checkpoint of model_dir and changes
  // nothing.
  [[nodiscard]] std::optional<NotFiniteTensor> FindNotFinite(const StreamSpec& stream,
                                                             const Batch& batch) const;

  [[nodiscard]] const std::string& model_dir() const;
  // The options, with defaults filled in.
  [[nodiscard]] const EstimatorOptions& options() const;
  // The number of replicas that train.
  [[nodiscard]] int replicas() const;
  // Returns the prefix of the newest checkpoint in model_dir, or nullopt.
  [[nodiscard]] std::optional<std::string> LatestCheckpoint() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tpuest
