#pragma once
// The contract between a model, its data and the loop, in TPUEstimator's words.

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

// A tensor of one example: no batch dimension in `shape`.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat;
  Shape shape;
  std::string key = {};  // the job's key path that makes the column, for errors; may be empty
};

// ---- data -------------------------------------------------------------------------------------

// A stream's position between two batches: whole epochs done, and source records (before filters
// and skips) consumed of the current one.
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

// A global batch: one tensor for each column, rows on axis 0.
struct Batch {
  // Of a batch that has a part of its rows alone (BatchStream::TakeRows) the first of them, and how
  // many the whole one has; 0: the tensors have all.
  int64_t first_row = 0;
  int64_t whole_rows = 0;
  // [batch, ...], in the order of StreamSpec::features; with batch_axis the batch is there.
  std::vector<Tensor> features;
  std::vector<Tensor> present;  // bool [batch, K] each, in the order of StreamSpec::lists
  nn::Labels<Tensor> labels;    // of StreamSpec::labels
  // [batch] float, 1 for an example and 0 for padding; invalid if every row is an example.
  Tensor example_weight;
  int64_t examples = 0;                     // rows of the whole batch that are not padding
  std::map<std::string, Tensor> forwarded;  // columns carried along, never fed to the model
  StreamPosition after;
  std::vector<Provenance> rows;  // of the whole batch; may be empty
};

// The columns of a stream.
struct StreamSpec {
  std::vector<TensorSpec> features;  // sorted by name
  // The features that are lists of any length, filled up to [batch, K]: Batch::present tells the
  // values of each from what fills it up.
  std::vector<std::string> lists;
  nn::Labels<TensorSpec> labels;  // the column of each head's labels
  // Batches have their batch on axis 0 even where TPUEstimator's batch_axis names another: it then
  // says where model_fn finds it.
  bool batch_first = false;
  bool forwards = false;  // batches carry columns along: Batch::forwarded
};

// A stream of batches, in an order that is a pure function of (seed, epoch, index). One thread at a
// time uses it.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  [[nodiscard]] virtual const StreamSpec& spec() const = 0;
  // Examples of one epoch, if that is known without reading it all.
  [[nodiscard]] virtual std::optional<int64_t> epoch_size() const = 0;
  // Whether the stream never ends by itself (repeat: -1).
  [[nodiscard]] virtual bool endless() const = 0;
  // Makes the next batch start here. Sources that cannot seek read up to it.
  virtual void Seek(const StreamPosition& position) = 0;
  // Called before the first Next: of full batches rows first to first + count - 1 alone are asked
  // for. A stream may leave out the others, or give all rows as before.
  virtual void TakeRows(int64_t /*first*/, int64_t /*count*/) {}
  // The next batch, or nullopt at the end. Error kData for a record that is damaged.
  [[nodiscard]] virtual std::optional<Batch> Next() = 0;
  // The source files; Provenance::file is an index into them.
  [[nodiscard]] virtual const std::vector<std::string>& files() const = 0;
};

// The arguments of an input_fn: TPUEstimator's params["batch_size"] and context.
struct InputContext {
  Mode mode = Mode::kTrain;
  int64_t batch_size = 1;  // rows of the global batch
  int batches = 1;         // the input's own that it is made of: one for each replica of a strategy
  // A short last batch is padded with copies of its first row to batch_size, with example_weight;
  // false: it is given short.
  bool pad_last = false;
  uint64_t seed = 0;
  int threads = 1;  // input workers
  // An op with a seed of its own draws by its name as well: the rule of older runs.
  bool seeds_by_name = false;
};
using InputFn = std::function<std::unique_ptr<BatchStream>(const InputContext&)>;

// ---- model ------------------------------------------------------------------------------------

// The features of a batch as placeholders, by name.
using Features = std::map<std::string, Value>;

// The params of a model_fn: those that TPUEstimator reserves.
struct Params {
  std::optional<int64_t> batch_size;  // rows of one replica; absent when exporting
  bool use_tpu = false;
  int replicas = 1;  // params["context"].num_replicas
  // The way a server gathers requests, for inference_on_tpu.
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

// A model_fn's call of inference_on_tpu, for exports of API version 2: the nodes that follow from
// `inputs` run on the TPU, host ops and AfterScopes aside.
struct InferenceOnTpu {
  std::vector<Value> inputs;  // [batch, ...] each
  std::optional<BatchConfig> batch_config;
};

// The result of a host_call's fn.
struct HostCallOps {
  std::map<std::string, Value> scalars;  // [] each: events of the run, or of the evaluation, by tag
  std::vector<Node*> targets;            // run for their effect
  Value step;  // int64 [], the events' step; not valid: the global step that the step began with
};
// Builds the nodes that are computed after a step, on tensors that hold the whole global batch.
using HostCallFn =
    std::function<HostCallOps(Graph& graph, const std::map<std::string, Value>& tensors)>;
// TPUEstimatorSpec.host_call: a function and the tensors that it takes.
struct HostCall {
  HostCallFn fn;
  std::map<std::string, Value> tensors;  // [batch, ...] each; none: nothing is called
  // The tags of its scalars: in TRAIN the host_call alone writes their events, SummarySaverHook
  // does not.
  std::set<std::string> tags;
};

// tf.compat.v1.train.Scaffold.
struct Scaffold {
  // The saver's map: by a variable's name, the checkpoint's name for it where that is another one.
  // It is used in EVAL and PREDICT, and for exports of them.
  std::map<std::string, std::string> restore_names;
  // The node that runs when the variables are there, before the first step; may be nullptr.
  Node* local_init_op = nullptr;
  // Called after the variables' initializers where no checkpoint is restored: the values, by name,
  // that variables start with instead. A warm start goes over them.
  std::function<std::map<std::string, Tensor>()> init_fn;
  std::string init_source;  // for the log: where those come from
};
using ScaffoldFn = std::function<std::optional<Scaffold>()>;

// A whole tensor that is shown where summaries are written: the rows of all replicas, or of what
// every replica has one.
struct ShownTensor {
  enum class Kind { kHistogram, kImage, kText, kAudio };
  std::string tag;
  Kind kind = Kind::kHistogram;
  // Numbers; [batch, height, width, 1, 3 or 4]; texts; [batch, frames] or [batch, frames,
  // channels].
  Value value;
  int64_t most = 3;       // images or sounds of the batch
  float sample_rate = 0;  // of sounds, in Hz
};

class SessionRunHook;
using SpecHooks = std::vector<std::shared_ptr<SessionRunHook>>;

// tf.compat.v1.estimator.tpu.TPUEstimatorSpec: the result of a model_fn. TRAIN has loss and
// train_op, EVAL a loss, PREDICT predictions; the rest may be missing.
struct TPUEstimatorSpec {
  Mode mode = Mode::kTrain;
  std::map<std::string, Value> predictions;
  Value loss;  // []
  Node* train_op = nullptr;
  std::optional<EvalMetrics> eval_metrics;
  std::map<std::string, ExportOutput> export_outputs;
  // The function that makes the scaffold; it is called once, when the model is built. Nodes that it
  // adds may not read values of the device.
  ScaffoldFn scaffold_fn;
  std::optional<HostCall> host_call;  // TRAIN, EVAL
  // The model's hooks, called in their mode after those of the call and of the loop.
  SpecHooks training_hooks;
  SpecHooks evaluation_hooks;
  SpecHooks prediction_hooks;
  // ModelFnOf fills these two, from an EstimatorSpec.
  SpecHooks training_chief_hooks;
  std::map<std::string, MetricOps> eval_metric_ops;
  // The call of inference_on_tpu in PREDICT with params.use_tpu. Without it the TPU's MetaGraph of
  // API version 2 has no TPU call.
  std::optional<InferenceOnTpu> inference_on_tpu;
  Value learning_rate;                     // [], for logs; may be invalid
  std::map<std::string, Value> summaries;  // [] each, by tag
  // Whole tensors, looked at when summaries are written: see nn::Summaries.
  std::map<std::string, Value> activations;
  std::map<std::string, Value> histograms;
  std::vector<ShownTensor> shown;
  // The labels that each head takes. Others are Error kData, by row; without a range any label will
  // do.
  nn::Labels<nn::LabelRange> label_ranges;
};

// The placeholders that a model_fn is called with, [batch, ...] each.
struct ModelInputs {
  Features features;
  // By feature, bool [batch, K]: true where a list has a value. A feature that is not here is
  // dense.
  Features present;
  nn::Labels<Value> labels;  // not valid in PREDICT
  Value example_weight;      // [batch]; valid only where the batch has padding
};

// ---- export -------------------------------------------------------------------------------------

// The result of a serving_input_receiver_fn: placeholders, and the features made of them.
struct ServingInputReceiver {
  Features features;
  Features present;                               // as ModelInputs::present
  nn::Labels<Value> labels;                       // in a supervised receiver (train, eval)
  std::map<std::string, Value> receiver_tensors;  // inputs of the signatures, by key
  // Other tensors that may be fed instead, for the signatures "<name>:<key>".
  std::map<std::string, std::map<std::string, Value>> receiver_tensors_alternatives;
  // The job's key path that makes a feature, for errors; may lack some.
  std::map<std::string, std::string> feature_keys;
};
using ServingInputReceiverFn = std::function<ServingInputReceiver(Graph& graph)>;

// The user's model_fn: builds the model into `graph`. global_step exists already as a variable.
using ModelFn = std::function<TPUEstimatorSpec(Graph& graph, const ModelInputs& inputs, Mode mode,
                                               const Params& params)>;

}  // namespace tpuest
