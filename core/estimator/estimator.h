#pragma once
// tf.estimator.TPUEstimator: trains, evaluates and predicts with a model_fn, input_fns and options.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract.h"
#include "core/estimator/hooks.h"
#include "core/estimator/options.h"
#include "core/estimator/stop_signal.h"
#include "core/io/hparams.h"

namespace tpuest {

// What an estimator works with; the caller keeps them alive.
struct EstimatorHome {
  const OpRegistry& registry;
  Backend& backend;  // of the host: initial values, metrics, exports
  Log& log;
  const Clock& clock;
  const StopSignal& stop;
  ProgressListener* progress = nullptr;
  bool fsync = true;          // off only for tests
  Backend* device = nullptr;  // where steps run; nullptr: on `backend`
  DeviceOptions device_options = {};
  HParams hparams = {};  // for TensorBoard
  // Every call goes as far as its first step or batch, with all the errors that come before, and
  // writes nothing; a temporary model_dir is not made.
  bool dry_run = false;

  [[nodiscard]] Backends backends() const {
    return {backend, device == nullptr ? backend : *device};
  }
};

struct TrainResult {
  int64_t global_step = 0;
  std::optional<float> loss;  // of the last step of this run
  // "max_steps", "steps", "already at max_steps", "end of input", "preempted", "interrupted", "dry
  // run", or what a hook said.
  std::string stopped_because;
  int exit_code = 0;       // 0, 75 or 130
  std::string checkpoint;  // prefix of the newest one; empty if there is none
};

struct EvaluateArgs {
  std::optional<int64_t> steps;           // batches; nullopt: the whole input
  std::optional<std::string> checkpoint;  // prefix; nullopt: the newest of model_dir
  std::string name;                       // eval_<name>/; empty: eval/
  std::vector<SessionRunHook*> hooks;     // called around every batch; the caller owns them
  std::string label;                      // in metrics.jsonl; empty: `name`, or "eval"
};
struct EvaluateResult {
  int64_t global_step = 0;
  std::map<std::string, Tensor> metrics;  // with "loss", without "global_step"
  std::string checkpoint;                 // empty: fresh variables
  int64_t examples = 0;
  int64_t batches = 0;
};

// One example's predictions, or a batch's if yield_single_examples is false.
struct PredictionRow {
  std::map<std::string, Tensor> values;     // no batch dimension in a single example's
  std::map<std::string, Tensor> forwarded;  // columns carried along
  int64_t index = 0;                        // of the (first) example
};
struct PredictArgs {
  std::optional<std::string> checkpoint;
  std::vector<std::string> predict_keys;  // empty: all
  bool yield_single_examples = true;
  std::optional<int64_t> limit;        // examples
  std::vector<SessionRunHook*> hooks;  // called around every batch; the caller owns them
};
struct PredictResult {
  int64_t global_step = 0;
  int64_t examples = 0;
  std::string checkpoint;
  // "end of input", "limit", "preempted", "interrupted", "dry run"
  std::string stopped_because;
  int exit_code = 0;
};
// Compares an export, read back, with the live model on the first `records` of an input.
struct VerifyArgs {
  int64_t records = 0;
  InputFn input_fn;             // gives the features
  InputFn serialized_input_fn;  // the same records as tf.Examples; may be empty
};
struct ExportArgs {
  std::string export_dir_base;
  std::map<Mode, ServingInputReceiverFn> input_receivers;  // the modes that are exported
  // The export's name is later than those of all that are there, even of the same second.
  bool is_newest = false;
  std::optional<std::string> checkpoint;
  std::map<std::string, std::string> assets_extra;  // path below assets.extra/ to a file
  bool as_text = false;
  bool strip_default_attrs = true;
  std::optional<BatchConfig> batch_config;  // for models that call inference_on_tpu
  std::optional<VerifyArgs> verify;
};
struct VerifyResult {
  int64_t records = 0;
  size_t signatures = 0;  // that were compared
};
struct ExportedSignature {
  std::string key;
  std::vector<std::string> tags;  // of its MetaGraph
  std::string method_name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};
struct ExportResult {
  std::string path;
  int64_t global_step = 0;
  std::string checkpoint;
  std::vector<ExportedSignature> signatures;
  std::map<std::string, std::string> excluded;  // why, by key
};

// Returning false ends the prediction.
using RowCallback = std::function<bool(const PredictionRow&)>;

struct EvalTask;                // core/estimator/train_and_evaluate.h
struct TrainAndEvaluateResult;  // likewise
struct FollowArgs;              // likewise
struct FollowResult;            // likewise

class Estimator {
 public:
  // Error kUsage with every fault of the options. Without model_dir a temporary folder is made and
  // named in a warning.
  Estimator(ModelFn model_fn, EstimatorOptions options, const EstimatorHome& home);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Resumes model_dir if it holds a checkpoint. Error kUsage for saving_listeners where nothing is
  // saved.
  TrainResult Train(const InputFn& input_fn, const TrainLength& length,
                    const TrainHooks& hooks = {});
  EvaluateResult Evaluate(const InputFn& input_fn, const EvaluateArgs& args = {});
  // tf.estimator.train_and_evaluate in one process: evaluates and exports after every checkpoint.
  // A run that was cut goes on with the evaluations, exports and best checkpoints it would have
  // had. Error kUsage where nothing is saved.
  TrainAndEvaluateResult TrainAndEvaluate(const InputFn& input_fn, const TrainLength& length,
                                          const TrainHooks& hooks, std::vector<EvalTask> tasks);
  // TensorFlow's evaluator task: evaluates and exports the newest checkpoints that another process
  // leaves in model_dir, until that run is over. Errors as Follower::Run's.
  FollowResult Follow(const FollowArgs& args, std::vector<EvalTask> tasks);
  PredictResult Predict(const InputFn& input_fn, const PredictArgs& args, const RowCallback& row);

  // Writes a SavedModel to <export_dir_base>/<seconds>. Error kCheckpoint where there is no trained
  // model, kGate where verifying finds a difference; nothing is left then.
  ExportResult ExportSavedModel(const ExportArgs& args);
  // Compares a SavedModel with what the model gives with a checkpoint: a prefix, or the
  // SavedModel's own folder for its own variables. Error kGate where they differ.
  VerifyResult VerifySavedModel(const std::string& folder, const VerifyArgs& args,
                                const std::string& checkpoint);

  [[nodiscard]] const std::string& model_dir() const;
  // With everything that was absent put in.
  [[nodiscard]] const EstimatorOptions& options() const;
  [[nodiscard]] int replicas() const;
  // Prefix of the newest checkpoint in model_dir, or nullopt.
  [[nodiscard]] std::optional<std::string> LatestCheckpoint() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tpuest
