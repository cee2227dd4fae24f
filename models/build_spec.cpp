#include "models/build_spec.h"

#include <utility>

#include "core/base/text.h"
#include "core/ops/elementwise.h"

namespace tpuest::models {
namespace {

ExportKind KindOf(nn::SignatureKind kind) {
  switch (kind) {
    case nn::SignatureKind::kPredict:
      return ExportKind::kPredict;
    case nn::SignatureKind::kClassification:
      return ExportKind::kClassification;
    case nn::SignatureKind::kRegression:
      return ExportKind::kRegression;
  }
  return ExportKind::kPredict;
}

// The head's metrics, those of the job in the place of its own of the same name.
EvalMetrics MetricsOf(const nn::HeadOutputs& outputs, const std::vector<nn::ExtraMetric>& extra) {
  nn::MetricBuilders builders = nn::ExtraMetricBuilders(extra, outputs.metric_tensors);
  builders.insert(outputs.metrics.begin(), outputs.metrics.end());
  return {.fn =
              [builders = std::move(builders)](Graph& graph, const nn::Tensors& tensors) {
                std::map<std::string, MetricOps> metrics;
                for (const auto& [name, metric] : nn::BuildMetrics(graph, builders, tensors)) {
                  metrics[name] = {metric.value, metric.update};
                }
                return metrics;
              },
          .tensors = outputs.metric_tensors};
}

// Whether averages stand in for the trained variables outside of training.
bool UsesAverages(const JobContext& job) {
  if (!job.optimizer) return false;
  return std::visit(
      [](const auto& optimizer) {
        const auto& average = optimizer.gradients.exponential_moving_average;
        return average && average->use_in_eval;
      },
      *job.optimizer);
}

// What servers gather is a whole request: the model runs from its features on.
InferenceOnTpu WholeModel(const SpecParts& parts) {
  InferenceOnTpu call{.batch_config = parts.params.batch_config};
  for (const auto& [name, value] : parts.inputs.features) call.inputs.push_back(value);
  return call;
}

nn::TrainOp Minimized(const SpecParts& parts, Value loss) {
  const nn::MinimizeOptions options{.replicas = parts.params.replicas,
                                    .dense_gradients = parts.params.use_tpu,
                                    .steps_per_epoch = parts.job.steps_per_epoch,
                                    .updates = parts.layers.updates};
  if (!parts.optimizers.empty()) return nn::MinimizeParts(loss, parts.optimizers, options);
  if (!parts.job.optimizer) {
    throw Error(Code::kUsage, "training needs an optimizer",
                "optimizer: {type: GradientDescentOptimizer, learning_rate: 0.01}")
        .Key("optimizer");
  }
  return nn::Minimize(loss, *parts.job.optimizer, options);
}

void SetTraining(const SpecParts& parts, TPUEstimatorSpec& spec) {
  const nn::TrainOp train_op = Minimized(parts, spec.loss);
  spec.train_op = train_op.node;
  spec.learning_rate = train_op.learning_rate;
  if (train_op.gradient_norm.valid()) {
    spec.summaries["global_norm/gradient_norm"] = train_op.gradient_norm;
  }
}

}  // namespace

DType PrecisionOf(const std::string& precision) {
  if (precision == "float32") return DType::kFloat;
  if (precision == "bfloat16") return DType::kBfloat16;
  throw Error(Code::kUsage,
              fmt::format("precision is '{}', expected float32 or bfloat16", precision))
      .Key("model.precision");
}

nn::LayerContext MakeLayerContext(Graph& graph, Mode mode, const Params& params,
                                  const std::string& precision,
                                  const std::vector<std::string>& trainable) {
  return {.graph = graph,
          .training = mode == Mode::kTrain,
          .compute_dtype = PrecisionOf(precision),
          .replicas = params.replicas,
          .trainable = nn::NamePatterns(trainable)};
}

Value OnlyFeature(const ModelInputs& inputs, const std::string& model,
                  const std::set<std::string>& weight_columns, DType compute_dtype) {
  std::vector<std::string> names;
  Value feature;
  for (const auto& [name, value] : inputs.features) {
    if (weight_columns.contains(name)) continue;
    names.push_back(name);
    feature = value;
  }
  if (names.size() != 1) {
    throw Error(Code::kUsage,
                fmt::format("{} takes one feature, got {}", model,
                            names.empty() ? "none" : Join(names, ", ")),
                "name the one in the input_fn's `features`");
  }
  const DType dtype = feature.dtype();
  if (!IsFloating(dtype) && !IsInteger(dtype)) {
    throw Error(Code::kUsage, fmt::format("{} takes numbers, feature '{}' is {}", model, names[0],
                                          NameOf(dtype)));
  }
  return ops::Cast(feature, compute_dtype);
}

TPUEstimatorSpec BuildSpec(const SpecParts& parts) {
  Graph& graph = parts.layers.graph;
  nn::HeadInputs head_inputs{
      .logits = parts.logits, .features = parts.inputs.features, .replicas = parts.params.replicas};
  if (parts.mode != Mode::kPredict) {
    head_inputs.labels = parts.inputs.labels;
    head_inputs.example_weight = parts.inputs.example_weight;
    if (!head_inputs.labels.valid()) {
      throw Error(Code::kUsage, "You must provide a labels Tensor. Given: None.",
                  "the input_fn's `labels` names them");
    }
    head_inputs.regularization_losses = parts.layers.regularization_losses;
    const Value decay = nn::WeightDecayLoss(graph, parts.l2_weight_decay);
    if (decay.valid()) head_inputs.regularization_losses.push_back(decay);
  }
  const nn::HeadOutputs outputs = nn::BuildHead(parts.head, head_inputs);

  TPUEstimatorSpec spec{.mode = parts.mode, .predictions = outputs.predictions};
  if (parts.mode != Mode::kTrain && UsesAverages(parts.job)) {
    spec.scaffold_fn = [&graph] { return Scaffold{.restore_names = nn::AveragesToRestore(graph)}; };
  }
  for (const auto& [key, signature] : outputs.signatures) {
    spec.export_outputs[key] = {KindOf(signature.kind), signature.outputs};
  }
  if (parts.mode == Mode::kPredict) {
    if (parts.params.use_tpu) spec.inference_on_tpu = WholeModel(parts);
    return spec;
  }
  spec.loss = outputs.loss;
  spec.label_ranges = nn::LabelRangesOf(parts.head);
  if (parts.mode == Mode::kTrain) SetTraining(parts, spec);
  spec.eval_metrics = MetricsOf(outputs, parts.metrics);
  return spec;
}

}  // namespace tpuest::models
