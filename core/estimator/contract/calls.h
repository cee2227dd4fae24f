#pragma once
// The arguments and results of an Estimator's calls, and its environment.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/estimator/contract/hooks.h"
#include "core/estimator/contract/stop_signal.h"
#include "core/io/events/hparams.h"

namespace tpuest::hosts {
class Group;
}  // namespace tpuest::hosts

namespace tpuest {

// The environment of an Estimator; the caller keeps it alive.
struct EstimatorHome {
  const OpRegistry& registry;
  Backend& backend;  // the host: initial values, metrics, exports
  Log& log;
  const Clock& clock;
  const StopSignal& stop;
  ProgressListener* progress = nullptr;
  bool fsync = true;          // off only for tests
  Backend* device = nullptr;  // where steps run; nullptr: on `backend`
  DeviceOptions device_options = {};
  HParams hparams = {};  // for TensorBoard
  // True: every call goes up to its first step or batch, with all errors that occur before it, and
  // writes nothing; a temporary model_dir is not created.
  bool dry_run = false;
  // The processes among which the replicas of training are divided; nullptr: this process runs all
  // of them.
  hosts::Group* group = nullptr;
  // True: the log contains all of TensorFlow's lines, including those about things that tpuest does
  // not have (its session, a RunConfig's fields), and with use_tpu: false pairs the loss with the
  // step that began with it.
  bool tensorflow_words = false;

  [[nodiscard]] Backends backends() const {
    return {backend, device == nullptr ? backend : *device};
  }
  // The backends for computations on all replicas without the other processes, whose devices hold
  // some of them.
  [[nodiscard]] Backends backends_alone() const {
    return group == nullptr ? backends() : Backends{backend, backend};
  }
};

struct TrainResult {
  int64_t global_step = 0;
  std::optional<float> loss;  // of this run's last step, before its update
  // "max_steps", "steps", "already at max_steps", "end of input", "preempted", "interrupted", "dry
  // run", or a hook's reason.
  std::string stopped_because;
  int exit_code = 0;       // 0, 75 or 130
  std::string checkpoint;  // prefix of the newest checkpoint; empty if there is none
};

// The arguments of Evaluate, as in tf.estimator.Estimator.evaluate.
struct EvaluateArgs {
  std::optional<int64_t> steps;           // batches; nullopt: the whole input
  std::optional<std::string> checkpoint;  // prefix; nullopt: the newest of model_dir
  bool allow_older = true;                // use an older checkpoint if the newest is damaged
  std::string name;                       // eval_<name>/; empty: eval/
  std::vector<SessionRunHook*> hooks;     // called around every batch; the caller owns them
  std::string label;                      // in metrics.jsonl; empty: `name`, or "eval"
  bool publish = true;                    // false: write no events and no line of metrics.jsonl
};
struct EvaluateResult {
  int64_t global_step = 0;
  std::map<std::string, Tensor> metrics;  // with "loss", without "global_step"
  std::string checkpoint;                 // empty: fresh variables
  int64_t examples = 0;
  int64_t batches = 0;
};

// The predictions for one example, or for a batch if yield_single_examples is false.
struct PredictionRow {
  std::map<std::string, Tensor> values;     // without batch dimension for a single example
  std::map<std::string, Tensor> forwarded;  // forwarded columns, as in Batch::forwarded
  int64_t index = 0;                        // of the (first) example, from 0
};
// The arguments of Predict, as in tf.estimator.Estimator.predict.
struct PredictArgs {
  std::optional<std::string> checkpoint;  // as in EvaluateArgs, like allow_older
  bool allow_older = true;
  std::vector<std::string> predict_keys;  // empty: all
  bool yield_single_examples = true;
  std::optional<int64_t> limit;        // examples
  std::vector<SessionRunHook*> hooks;  // called around every batch; the caller owns them
};
struct PredictResult {
  int64_t global_step = 0;
  int64_t examples = 0;
  std::string checkpoint;
  // "end of input", "limit" (also if the callback ended it), "hook", "preempted", "interrupted",
  // "dry run".
  std::string stopped_because;
  int exit_code = 0;
};
// The arguments of a comparison: an export, read back, against the live model on the first
// `records` examples of an input.
struct VerifyArgs {
  int64_t records = 0;
  InputFn input_fn;             // provides the features
  InputFn serialized_input_fn;  // the same records as tf.Examples; may be empty
};
// The arguments of an export, as in tf.estimator.Estimator.experimental_export_all_saved_models.
struct ExportArgs {
  std::string export_dir_base;
  std::map<Mode, ServingInputReceiverFn> input_receivers;  // the modes to export
  // True: the export's name is later than those of all existing exports, even of the same second.
  bool is_newest = false;
  std::optional<std::string> checkpoint;  // as in EvaluateArgs, like allow_older
  bool allow_older = true;
  std::map<std::string, std::string> assets_extra;  // path below assets.extra/ to a source file
  bool as_text = false;
  bool strip_default_attrs = true;
  std::optional<BatchConfig> batch_config;  // for models that call inference_on_tpu
  std::optional<VerifyArgs> verify;
};
// The extent of a comparison that found no difference.
struct VerifyResult {
  int64_t records = 0;
  size_t signatures = 0;  // number of signatures compared
};
// A signature of an export: keys of inputs and outputs, in order.
struct ExportedSignature {
  std::string key;
  std::vector<std::string> tags;  // of its MetaGraph
  std::string method_name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};
// The result of an export: its folder, the checkpoint's step and prefix, and the signatures.
struct ExportResult {
  std::string path;
  int64_t global_step = 0;
  std::string checkpoint;
  std::vector<ExportedSignature> signatures;
  std::map<std::string, std::string> excluded;  // reasons, by signature key
};

// Receives the rows; returning false ends the prediction.
using RowCallback = std::function<bool(const PredictionRow&)>;

}  // namespace tpuest
