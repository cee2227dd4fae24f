#pragma once
// The arguments and results of an Estimator's calls, and its surroundings.

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

// The surroundings of an Estimator; the caller keeps them alive.
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
  // Every call goes as far as its first step or batch, with all the errors that come before, and
  // writes nothing; a temporary model_dir is not made.
  bool dry_run = false;
  // The processes that the replicas of training are spread over; nullptr: this one has all.
  hosts::Group* group = nullptr;
  // The log has all of TensorFlow's lines, also those about what is none here (its session, a
  // RunConfig's fields), and with use_tpu: false the loss beside the step that it began.
  bool tensorflow_words = false;

  [[nodiscard]] Backends backends() const {
    return {backend, device == nullptr ? backend : *device};
  }
  // For what this process computes on all replicas without the other processes, of which its
  // devices are only some.
  [[nodiscard]] Backends backends_alone() const {
    return group == nullptr ? backends() : Backends{backend, backend};
  }
};

struct TrainResult {
  int64_t global_step = 0;
  std::optional<float> loss;  // of this run's last step, before its update
  // "max_steps", "steps", "already at max_steps", "end of input", "preempted", "interrupted", "dry
  // run", or what a hook said.
  std::string stopped_because;
  int exit_code = 0;       // 0, 75 or 130
  std::string checkpoint;  // prefix of the newest one; empty if there is none
};

// The arguments of Evaluate, as tf.estimator.Estimator.evaluate has them.
struct EvaluateArgs {
  std::optional<int64_t> steps;           // batches; nullopt: the whole input
  std::optional<std::string> checkpoint;  // prefix; nullopt: the newest of model_dir
  bool allow_older = true;                // an older one if the newest is damaged
  std::string name;                       // eval_<name>/; empty: eval/
  std::vector<SessionRunHook*> hooks;     // called around every batch; the caller owns them
  std::string label;                      // in metrics.jsonl; empty: `name`, or "eval"
  bool publish = true;                    // false: no events and no line of metrics.jsonl
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
  std::map<std::string, Tensor> values;     // no batch dimension in a single example's
  std::map<std::string, Tensor> forwarded;  // columns carried along, as Batch::forwarded
  int64_t index = 0;                        // the (first) example's, from 0
};
// The arguments of Predict, as tf.estimator.Estimator.predict has them.
struct PredictArgs {
  std::optional<std::string> checkpoint;  // as EvaluateArgs', and so is allow_older
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
  // "end of input", "limit" (also where the callback ended it), "hook", "preempted", "interrupted",
  // "dry run".
  std::string stopped_because;
  int exit_code = 0;
};
// The arguments of a comparison of an export, read back, with the live model on the first `records`
// examples of an input.
struct VerifyArgs {
  int64_t records = 0;
  InputFn input_fn;             // gives the features
  InputFn serialized_input_fn;  // the same records as tf.Examples; may be empty
};
// The arguments of an export, as tf.estimator.Estimator.experimental_export_all_saved_models has
// them.
struct ExportArgs {
  std::string export_dir_base;
  std::map<Mode, ServingInputReceiverFn> input_receivers;  // the modes that are exported
  // The export's name is later than those of all that are there, even of the same second.
  bool is_newest = false;
  std::optional<std::string> checkpoint;  // as EvaluateArgs', and so is allow_older
  bool allow_older = true;
  std::map<std::string, std::string> assets_extra;  // path below assets.extra/ to a file
  bool as_text = false;
  bool strip_default_attrs = true;
  std::optional<BatchConfig> batch_config;  // for models that call inference_on_tpu
  std::optional<VerifyArgs> verify;
};
// The extent of a comparison that found no difference.
struct VerifyResult {
  int64_t records = 0;
  size_t signatures = 0;  // how many were compared
};
// A signature of an export: keys of inputs and outputs, in order.
struct ExportedSignature {
  std::string key;
  std::vector<std::string> tags;  // its MetaGraph's
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
  std::map<std::string, std::string> excluded;  // the reasons, by the signatures' keys
};

// The function that gets the rows; it ends the prediction by returning false.
using RowCallback = std::function<bool(const PredictionRow&)>;

}  // namespace tpuest
