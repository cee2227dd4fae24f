#include "tests/core/estimator/fixture.h"

#include <limits>

#include "core/graph/gradient.h"
#include "core/io/bundle.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/random.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "core/ops/training.h"

namespace tpuest {
namespace {

class RangeStream final : public BatchStream {
 public:
  RangeStream(const RangeOptions& options, int64_t batch) : options_(options), batch_(batch) {
    spec_.features = {{"i", DType::kInt64, {1}}, {"x", DType::kFloat, {1}}};
    spec_.labels = TensorSpec{"y", DType::kFloat, {1}};
  }
  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return options_.count; }
  [[nodiscard]] bool endless() const override { return options_.repeat < 0; }
  void Seek(const StreamPosition& position) override { at_ = position; }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }

  [[nodiscard]] std::optional<Batch> Next() override {
    std::vector<int64_t> taken;
    while (static_cast<int64_t>(taken.size()) < batch_) {
      if (at_.records == options_.count) at_ = {at_.epoch + 1, 0};
      if (options_.repeat >= 0 && at_.epoch >= options_.repeat) break;
      taken.push_back(at_.records++);
    }
    const auto n = static_cast<int64_t>(taken.size());
    if (n == 0 || (n < batch_ && options_.drop_remainder)) return std::nullopt;
    return Make(taken);
  }

 private:
  Batch Make(const std::vector<int64_t>& taken) const {
    const auto n = static_cast<int64_t>(taken.size());
    Batch batch;
    Tensor x(DType::kFloat, {n, 1});
    Tensor y(DType::kFloat, {n, 1});
    for (size_t row = 0; row < taken.size(); ++row) {
      const float value = static_cast<float>(taken[row]) / static_cast<float>(options_.count);
      x.data<float>()[row] = value;
      y.data<float>()[row] =
          taken[row] == options_.nan_at ? std::numeric_limits<float>::quiet_NaN() : 2 * value + 1;
    }
    batch.features = {Tensor::Of<int64_t>({n, 1}, taken), x};
    batch.labels = y;
    batch.examples = n;
    batch.forwarded["id"] = batch.features.front();
    batch.after = at_;
    return batch;
  }

  RangeOptions options_;
  int64_t batch_;
  StreamSpec spec_;
  StreamPosition at_;
  std::vector<std::string> files_;
};

// A trainable variable that starts at zero or at random numbers.
Variable* AddZeros(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.AddVariable(name, DType::kFloat, shape,
                           ops::Zeros(graph, DType::kFloat, shape, name + "/zeros"));
}

Node* Update(Graph& graph, const Variable& variable, Value gradient, const LinearOptions& options) {
  const Value rate = graph.Scalar<float>(0.1F);
  if (!options.with_slots) {
    return ops::ResourceApplyGradientDescent(variable.handle, rate, gradient);
  }
  const Variable* const slot =
      graph.AddVariable(variable.name + "/Momentum", DType::kFloat, variable.shape,
                        ops::Zeros(graph, DType::kFloat, variable.shape), {.trainable = false});
  return ops::ResourceApplyMomentum({.var = variable.handle,
                                     .accum = slot->handle,
                                     .lr = rate,
                                     .grad = gradient,
                                     .momentum = graph.Scalar<float>(0.5F)});
}

Node* TrainNode(Graph& graph, Value loss, const std::vector<Variable*>& variables, int replicas,
                const LinearOptions& options) {
  std::vector<Value> values;
  for (const Variable* const variable : variables) values.push_back(variable->value);
  const std::vector<Gradient> gradients = Gradients(loss, values);
  std::vector<Node*> updates;
  for (size_t i = 0; i < variables.size(); ++i) {
    Value gradient = ToDense(gradients[i]);
    if (replicas > 1) {
      gradient = ops::CrossReplicaSum(ops::RealDiv(gradient, replicas), replicas);
    }
    updates.push_back(Update(graph, *variables[i], gradient, options));
  }
  const Variable* const step = nn::GetOrCreateGlobalStep(graph);
  updates.push_back(ops::AssignAddVariableOp(step->handle, graph.Scalar<int64_t>(1)));
  return ops::NoOp(graph, updates, "train");
}

// A mean over examples: the sum of weight * value divided by the sum of weights.
MetricOps MeanMetric(Graph& graph, const std::string& name, Value value, Value weight) {
  const auto local = [&](const std::string& part) {
    return graph.AddVariable(name + "/" + part, DType::kFloat, {}, graph.Scalar<float>(0.0F),
                             {.trainable = false, .local = true});
  };
  const Variable* const total = local("total");
  const Variable* const count = local("count");
  Node* const add_total =
      ops::AssignAddVariableOp(total->handle, ops::Sum(ops::Mul(value, weight)));
  Node* const add_count = ops::AssignAddVariableOp(count->handle, ops::Sum(weight));
  return {.value = ops::DivNoNan(total->value, count->value),
          .update = ops::NoOp(graph, {add_total, add_count}, name + "/update")};
}

EvalMetrics Metrics(Value x, Value squared, Value weight) {
  EvalMetrics metrics;
  metrics.tensors = {{"squared", squared}, {"x", x}};
  if (weight.valid()) metrics.tensors["weight"] = weight;
  metrics.fn = [](Graph& graph, const std::map<std::string, Value>& tensors) {
    const auto given = tensors.find("weight");
    const Value weight =
        given != tensors.end() ? ops::ExpandDims(given->second, 1) : ops::OnesLike(tensors.at("x"));
    return std::map<std::string, MetricOps>{
        {"average_loss", MeanMetric(graph, "average_loss", tensors.at("squared"), weight)},
        {"mean_x", MeanMetric(graph, "mean_x", tensors.at("x"), weight)}};
  };
  return metrics;
}

// The sum of weighted errors divided by the sum of weights, over all replicas.
Value WeightedLoss(Value squared, Value weight, int replicas) {
  Value sum = ops::Sum(ops::Mul(squared, ops::ExpandDims(weight, 1)));
  Value count = ops::Sum(weight);
  if (replicas > 1) {
    sum = ops::CrossReplicaSum(sum, replicas);
    count = ops::CrossReplicaSum(count, replicas);
  }
  return ops::DivNoNan(sum, count);
}

}  // namespace

InputFn RangeInput(const RangeOptions& options) {
  return [options](const InputContext& context) {
    return std::make_unique<RangeStream>(options, context.batch_size);
  };
}

ModelFn LinearModel(const LinearOptions& options) {
  return [options](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    Variable* const kernel = AddZeros(graph, "dense/kernel", {1, 1});
    Variable* const bias = AddZeros(graph, "dense/bias", {options.bias_size});
    graph.AddVariable("noise", DType::kFloat, {3},
                      ops::RandomUniform(graph, {3}, DType::kFloat, "noise/initial"));
    const Value x = inputs.features.at("x");
    const Value y = ops::AddV2(ops::MatMul(x, kernel->value), bias->value, "prediction");
    TPUEstimatorSpec spec{.mode = mode};
    spec.predictions = {{"index", inputs.features.at("i")}, {"y", y}};
    if (mode == Mode::kPredict) return spec;
    const Value squared = ops::SquaredDifference(y, inputs.labels.only());
    const Value weight = options.reads_example_weight ? inputs.example_weight : Value();
    spec.loss =
        weight.valid() ? WeightedLoss(squared, weight, params.replicas) : ops::Mean(squared);
    spec.loss = ops::Mul(spec.loss, options.loss_scale, "loss");
    if (mode == Mode::kEval) {
      spec.eval_metrics = Metrics(x, squared, weight);
      return spec;
    }
    spec.train_op = TrainNode(graph, spec.loss, {kernel, bias}, params.replicas, options);
    spec.learning_rate = graph.Scalar<float>(0.1F, "learning_rate");
    spec.summaries["bias"] = ops::Sum(bias->value);
    return spec;
  };
}

EstimatorOptions Options(const std::string& model_dir, int shards, int64_t batch) {
  EstimatorOptions options;
  options.use_tpu = shards > 0;
  options.train_batch_size = batch;
  options.run_config.model_dir = model_dir;
  options.run_config.tf_random_seed = 7;
  options.run_config.save_checkpoints_steps = 1000;
  options.run_config.session_config.intra_op_parallelism_threads = 1;
  options.run_config.checkpoint_save_graph_def = false;
  if (shards > 0) options.run_config.tpu_config.num_shards = shards;
  return options;
}

std::string CheckpointBytes(const std::string& prefix) {
  return ReadFile(BundleIndexPath(prefix)) + ReadFile(BundleDataPath(prefix, 0, 1));
}

}  // namespace tpuest
