#pragma once
// The contract between a model, its data and the training loop, in TPUEstimator's terms.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/graph/export_output.h"
#include "core/graph/graph.h"
#include "core/graph/metric_ops.h"
#include "core/graph/tpu_inference.h"
#include "core/nn/label_range.h"
#include "core/nn/labels.h"
#include "core/tensor/tensor.h"

namespace tpuest {

enum class Mode { kTrain, kEval, kPredict };
[[nodiscard]] std::string_view ModeName(Mode mode);  // "train", "eval", "infer"

// A tensor of one example: `shape` has no batch dimension.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat;
  Shape shape;
  std::string key = {};  // the job's key path of the column, for errors; may be empty
};

// ---- data -------------------------------------------------------------------------------------

// A stream's position between two batches: completed epochs, and source records (before filters and
// skips) consumed in the current epoch.
struct StreamPosition {
  int64_t epoch = 0;
  int64_t records = 0;
  bool operator==(const StreamPosition&) const = default;
};

// The source record of a row.
struct Provenance {
  int32_t file = 0;  // index into BatchStream::files()
  int64_t record = 0;
};

// A global batch: one tensor per column, with rows on axis 0.
struct Batch {
  // For a batch that contains only some of its rows (BatchStream::TakeRows): the first of them, and
  // the number of rows of the whole batch; 0: the tensors contain all rows.
  int64_t first_row = 0;
  int64_t whole_rows = 0;
  // [batch, ...], in the order of StreamSpec::features; with batch_axis the batch is on that axis.
  std::vector<Tensor> features;
  std::vector<Tensor> present;  // bool [batch, K] each, in the order of StreamSpec::lists
  nn::Labels<Tensor> labels;    // of StreamSpec::labels
  // [batch] float, 1 for an example and 0 for padding; invalid if every row is an example.
  Tensor example_weight;
  int64_t examples = 0;                     // rows of the whole batch that are not padding
  std::map<std::string, Tensor> forwarded;  // forwarded columns, never fed to the model
  StreamPosition after;
  std::vector<Provenance> rows;  // of the whole batch; may be empty
};

// The columns of a stream.
struct StreamSpec {
  std::vector<TensorSpec> features;  // sorted by name
  // The features that are lists of any length, padded to [batch, K]; Batch::present marks the
  // values that are not padding.
  std::vector<std::string> lists;
  nn::Labels<TensorSpec> labels;  // the label column of each head
  // True: batches have their batch on axis 0 even if TPUEstimator's batch_axis names another;
  // batch_axis then says where model_fn finds it.
  bool batch_first = false;
  bool forwards = false;  // batches contain forwarded columns: Batch::forwarded
};

// A stream of batches, in an order that is a pure function of (seed, epoch, index). Used by one
// thread at a time.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  [[nodiscard]] virtual const StreamSpec& spec() const = 0;
  // Returns the number of examples per epoch, if it is known without reading all of it.
  [[nodiscard]] virtual std::optional<int64_t> epoch_size() const = 0;
  // Whether the stream never ends by itself (repeat: -1).
  [[nodiscard]] virtual bool endless() const = 0;
  // Makes the next batch start here. Sources that cannot seek read up to the position.
  virtual void Seek(const StreamPosition& position) = 0;
  // Called before the first Next: of full batches, the caller needs only rows first to first +
  // count - 1. A stream may omit the others, or return all rows as before.
  virtual void TakeRows(int64_t /*first*/, int64_t /*count*/) {}
  // Returns the next batch, or nullopt at the end. Throws Error kData for a damaged record.
  [[nodiscard]] virtual std::optional<Batch> Next() = 0;
  // Returns the source files; Provenance::file is an index into them.
  [[nodiscard]] virtual const std::vector<std::string>& files() const = 0;
};

// The arguments of an input_fn: TPUEstimator's params["batch_size"] and context.
struct InputContext {
  Mode mode = Mode::kTrain;
  int64_t batch_size = 1;  // rows of the global batch
  int batches = 1;  // number of input batches in a global batch: one per replica of a strategy
  // True: a short last batch is padded with copies of its first row to batch_size, with
  // example_weight. False: it stays short.
  bool pad_last = false;
  uint64_t seed = 0;
  int threads = 1;  // input workers
  // True: an op with its own seed also depends on its name, the rule of older runs.
  bool seeds_by_name = false;
};
using InputFn = std::function<std::unique_ptr<BatchStream>(const InputContext&)>;

// ---- model ------------------------------------------------------------------------------------

// The features of a batch as placeholders, by name.
using Features = std::map<std::string, Value>;

// The params of a model_fn: those that TPUEstimator reserves.
struct Params {
  std::optional<int64_t> batch_size;  // rows per replica; absent when exporting
  bool use_tpu = false;
  int replicas = 1;  // params["context"].num_replicas
  // How a server batches requests, for inference_on_tpu.
  std::optional<BatchConfig> batch_config;
};

// Builds the metrics on tensors that hold the whole global batch; runs after the device.
using MetricFn = std::function<std::map<std::string, MetricOps>(
    Graph& graph, const std::map<std::string, Value>& tensors)>;
// TPUEstimatorSpec.eval_metrics: a metric_fn and the tensors that it takes.
struct EvalMetrics {
  MetricFn fn;
  std::map<std::string, Value> tensors;  // [batch, ...] each
};

// A model_fn's call of inference_on_tpu, for exports of API version 2: the nodes that depend on
// `inputs` run on the TPU, except host ops and AfterScopes.
struct InferenceOnTpu {
  std::vector<Value> inputs;  // [batch, ...] each
  std::optional<BatchConfig> batch_config;
};

// The result of a host_call's fn.
struct HostCallOps {
  std::map<std::string, Value> scalars;  // [] each: events of the run or the evaluation, by tag
  std::vector<Node*> targets;            // run for their effect
  Value step;  // int64 [], the events' step; not valid(): the global step at the start of the step
};
// Builds the nodes that run after a step, on tensors that hold the whole global batch.
using HostCallFn =
    std::function<HostCallOps(Graph& graph, const std::map<std::string, Value>& tensors)>;
// TPUEstimatorSpec.host_call: a function and the tensors that it takes.
struct HostCall {
  HostCallFn fn;
  std::map<std::string, Value> tensors;  // [batch, ...] each; empty: fn is not called
  // The tags of its scalars: in TRAIN the host_call writes their events, not SummarySaverHook.
  std::set<std::string> tags;
};

// tf.compat.v1.train.Scaffold.
struct Scaffold {
  // The saver's map: a variable's name to the checkpoint's name for it, if they differ. Used in
  // EVAL and PREDICT, and for exports of these modes.
  std::map<std::string, std::string> restore_names;
  // The node that runs when the variables have values, before the first step; may be nullptr.
  Node* local_init_op = nullptr;
  // Called after the variables' initializers if no checkpoint is restored: returns values, by name,
  // that replace the initial ones. A warm start overwrites them.
  std::function<std::map<std::string, Tensor>()> init_fn;
  std::string init_source;  // for the log: where these values come from
};
using ScaffoldFn = std::function<std::optional<Scaffold>()>;

// A whole tensor that is recorded when summaries are written: the rows of all replicas, or a tensor
// that every replica has.
struct ShownTensor {
  enum class Kind { kHistogram, kImage, kText, kAudio };
  std::string tag;
  Kind kind = Kind::kHistogram;
  // Numbers; images [batch, height, width, 1, 3 or 4]; strings; sounds [batch, frames] or [batch,
  // frames, channels].
  Value value;
  int64_t most = 3;       // maximum number of images or sounds per batch
  float sample_rate = 0;  // for sounds, in Hz
};

class SessionRunHook;
using SpecHooks = std::vector<std::shared_ptr<SessionRunHook>>;

// tf.compat.v1.estimator.tpu.TPUEstimatorSpec: the result of a model_fn. TRAIN requires loss and
// train_op, EVAL a loss, PREDICT predictions; the rest is optional.
struct TPUEstimatorSpec {
  Mode mode = Mode::kTrain;
  std::map<std::string, Value> predictions;
  Value loss;  // []
  Node* train_op = nullptr;
  std::optional<EvalMetrics> eval_metrics;
  std::map<std::string, ExportOutput> export_outputs;
  // Makes the scaffold; called once, when the model is built. Nodes that it adds must not read
  // values on the device.
  ScaffoldFn scaffold_fn;
  std::optional<HostCall> host_call;  // TRAIN, EVAL
  // The model's hooks, called in their mode after those of the call and of the loop.
  SpecHooks training_hooks;
  SpecHooks evaluation_hooks;
  SpecHooks prediction_hooks;
  // Filled by ModelFnOf from an EstimatorSpec.
  SpecHooks training_chief_hooks;
  std::map<std::string, MetricOps> eval_metric_ops;
  // The call of inference_on_tpu in PREDICT with params.use_tpu. Without it, the TPU's MetaGraph of
  // API version 2 has no TPU call.
  std::optional<InferenceOnTpu> inference_on_tpu;
  Value learning_rate;                     // [], for logs; may be invalid
  std::map<std::string, Value> summaries;  // [] each, by tag
  // Whole tensors, recorded when summaries are written: see nn::Summaries.
  std::map<std::string, Value> activations;
  std::map<std::string, Value> histograms;
  std::vector<ShownTensor> shown;
  // The labels that each head accepts. Others cause an Error kData with their row; a head without a
  // range accepts any label.
  nn::Labels<nn::LabelRange> label_ranges;
};

// The placeholders with which a model_fn is called, [batch, ...] each.
struct ModelInputs {
  Features features;
  // By feature, bool [batch, K]: true where a list has a value. A feature without an entry is
  // dense.
  Features present;
  nn::Labels<Value> labels;  // not valid() in PREDICT
  Value example_weight;      // [batch]; valid() only if the batch has padding
};

// ---- export -------------------------------------------------------------------------------------

// The result of a serving_input_receiver_fn: placeholders, and the features computed from them.
struct ServingInputReceiver {
  Features features;
  Features present;                               // as in ModelInputs::present
  nn::Labels<Value> labels;                       // in a supervised receiver (train, eval)
  std::map<std::string, Value> receiver_tensors;  // inputs of the signatures, by key
  // Other tensors that may be fed instead, for the signatures "<name>:<key>".
  std::map<std::string, std::map<std::string, Value>> receiver_tensors_alternatives;
  // The job's key path of each feature, for errors; may lack some.
  std::map<std::string, std::string> feature_keys;
};
using ServingInputReceiverFn = std::function<ServingInputReceiver(Graph& graph)>;

// The user's model_fn: builds the model into `graph`, in which the variable global_step already
// exists.
using ModelFn = std::function<TPUEstimatorSpec(Graph& graph, const ModelInputs& inputs, Mode mode,
                                               const Params& params)>;

}  // namespace tpuest
