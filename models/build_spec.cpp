#include "models/build_spec.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/text.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "models/recorded_scalars.h"
#include "models/table_lookup.h"

namespace tpuest::models {
namespace {

// Puts the features that formulas of metrics name beside the head's tensors.
void AddNamedFeatures(const SpecParts& parts, nn::Tensors& tensors) {
  const std::vector<std::string> names = nn::NamesInMetrics(parts.metrics);
  const auto named = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [name, value] : parts.inputs.features) {
    if (named(name) || named("features")) tensors.emplace(nn::FeatureKey(name), value);
  }
}

// Puts what an output of a compiled model was given, and its label, beside the head's tensors,
// under the names that other heads have for them; padding, of any head that has several parts.
void AddOutputs(const SpecParts& parts, nn::Tensors& tensors) {
  if (parts.metrics.empty()) return;
  const Value padding = parts.inputs.example_weight;
  const bool is_keras = std::holds_alternative<nn::KerasHead>(parts.head);
  if (padding.valid() && (is_keras || std::holds_alternative<nn::MultiHead>(parts.head))) {
    tensors.emplace("weights", ops::ExpandDims(padding, -1));
  }
  if (!is_keras) return;
  const nn::Labels<Value>& labels = parts.inputs.labels;
  const bool is_one = parts.logits_by_head.size() < 2;
  for (const auto& [name, value] : parts.logits_by_head) {
    const std::string prefix = is_one ? "" : name + "/";
    const Value given = ops::Cast(value, DType::kFloat);
    tensors.emplace(prefix + "logits", given);
    tensors.emplace(prefix + "predictions", given);
    if (!labels.valid()) continue;
    const Value* const named = labels.is_dict() ? labels.Find(name) : nullptr;
    if (named == nullptr && (labels.is_dict() || !is_one)) continue;
    const Value label = named != nullptr ? *named : labels.only();
    tensors.emplace(prefix + "labels",
                    label.shape().rank() == 1 ? ops::ExpandDims(label, -1) : label);
  }
}

// Returns the head's metrics; a metric of the job replaces the head's of the same name.
nn::MetricBuilders MetricsOf(const nn::HeadOutputs& outputs,
                             const std::vector<nn::ExtraMetric>& extra) {
  nn::MetricBuilders builders = nn::ExtraMetricBuilders(extra, outputs.metric_tensors);
  builders.insert(outputs.metrics.begin(), outputs.metrics.end());
  return builders;
}

EvalMetrics EvalMetricsOf(const nn::HeadOutputs& outputs, nn::MetricBuilders builders) {
  return {.fn =
              [builders = std::move(builders)](Graph& graph, const nn::Tensors& tensors) {
                return nn::BuildMetrics(graph, builders, tensors);
              },
          .tensors = outputs.metric_tensors};
}

// Returns the averages that replace trained variables outside training: the names from which these
// are restored.
std::map<std::string, std::string> UsedAverages(const SpecParts& parts) {
  const Graph& graph = parts.layers.graph;
  const std::vector<nn::KeptAverage> averages = nn::WithoutTables(
      parts.job.optimizer && parts.optimizers.empty() ? nn::AveragesOf(graph, *parts.job.optimizer)
                                                      : nn::AveragesOf(graph, parts.optimizers),
      TrainedTables(graph, parts.params, parts.job));
  std::map<std::string, std::string> names;
  for (const nn::KeptAverage& average : averages) {
    if (average.options->use_in_eval) names.merge(nn::AveragesToRestore(average));
  }
  return names;
}

// The whole model as what servers gather requests for: it runs from its features on.
InferenceOnTpu WholeModel(const SpecParts& parts) {
  InferenceOnTpu call{.batch_config = parts.params.batch_config};
  for (const auto& [name, value] : parts.inputs.features) call.inputs.push_back(value);
  for (const auto& [name, value] : parts.inputs.present) call.inputs.push_back(value);
  return call;
}

constexpr const char* kGradientNorm = "global_norm/gradient_norm";

bool Records(const JobContext& job, std::string_view tag) {
  return std::find(job.summaries.begin(), job.summaries.end(), tag) != job.summaries.end();
}

bool IsStrategy(const SpecParts& parts) {
  return parts.params.replicas > 1 && !parts.params.use_tpu;
}

// True if the head sums the losses of a strategy's replicas.
bool SumsLosses(const SpecParts& parts) {
  return IsStrategy(parts) && nn::LossReductionOf(parts.head) == nn::LossReduction::kSum;
}

bool HasKeras(const std::vector<nn::OptimizerPart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const nn::OptimizerPart& part) {
    return std::holds_alternative<nn::KerasOptimizer>(part.optimizer);
  });
}

// True if a step descends the sum of its replicas' losses, not their mean: a strategy of
// tf.distribute reduces losses as the head does, unless the model divides them whatever the head.
bool DescendsSum(const SpecParts& parts) {
  return SumsLosses(parts) && !(parts.divides_losses && HasKeras(parts.optimizers));
}

// True if a step's loss is reported as the sum over replicas, as TensorFlow's Estimator does for
// every loss that no optimizer of tf.train divided.
bool TellsSum(const SpecParts& parts) {
  return SumsLosses(parts) || (IsStrategy(parts) && HasKeras(parts.optimizers));
}

nn::TrainOp Minimized(const SpecParts& parts, Value loss) {
  const nn::MinimizeOptions options{
      .replicas = parts.params.replicas,
      .sums_losses = DescendsSum(parts),
      .dense_gradients = parts.params.use_tpu,
      .steps_per_epoch = parts.job.steps_per_epoch,
      .gradient_norm = Records(parts.job, kGradientNorm),
      .heads = nn::HeadsOf(parts.head),
      .updates = parts.layers.updates,
      .constraints = parts.layers.constraints,
      .remat = parts.job.remat,
      .tables = TrainedTables(parts.layers.graph, parts.params, parts.job)};
  if (!parts.optimizers.empty()) return nn::MinimizeParts(loss, parts.optimizers, options);
  if (!parts.job.optimizer) {
    throw Error(Code::kUsage, "training needs an optimizer",
                "optimizer: {type: GradientDescentOptimizer, learning_rate: 0.01}")
        .Key("optimizer");
  }
  return nn::Minimize(loss, *parts.job.optimizer, options);
}

// The part of the epochs that a step begins with, float32 [].
Value CurrentEpoch(Graph& graph, double steps_per_epoch) {
  const Value step = nn::GetOrCreateGlobalStep(graph)->value;
  return ops::RealDiv(ops::Cast(step, DType::kFloat), steps_per_epoch);
}

// Returns the values that a training step can record.
Recordable RecordableOf(const SpecParts& parts, const TPUEstimatorSpec& spec,
                        const nn::HeadOutputs& outputs) {
  Recordable of{.scalars = spec.summaries,
                .metrics = MetricsOf(outputs, parts.metrics),
                .metric_tensors = outputs.metric_tensors,
                .others = {"variables", "gradients"}};
  of.scalars["loss"] = spec.loss;
  if (spec.learning_rate.valid()) of.scalars["learning_rate"] = spec.learning_rate;
  if (!spec.summaries.contains(kGradientNorm)) of.others.emplace_back(kGradientNorm);
  if (parts.job.steps_per_epoch && Records(parts.job, kCurrentEpoch)) {
    of.scalars[std::string(kCurrentEpoch)] =
        CurrentEpoch(parts.layers.graph, *parts.job.steps_per_epoch);
  } else if (parts.job.steps_per_epoch) {
    of.others.emplace_back(kCurrentEpoch);
  }
  return of;
}

// Adds the histograms that a job asks for to the spec, and returns the tags of scalars; "" instead
// of any other tag.
std::vector<std::string> WithoutHistograms(std::vector<std::string> tags, const Graph& graph,
                                           const nn::TrainOp& train_op, TPUEstimatorSpec& spec) {
  const auto takes = [&](std::string_view word) {
    const auto found = std::find(tags.begin(), tags.end(), word);
    if (found == tags.end()) return false;
    found->clear();
    return true;
  };
  if (takes("variables")) {
    for (const auto& variable : graph.variables()) {
      if (variable->trainable) spec.histograms[variable->name] = variable->value;
    }
  }
  if (takes("gradients")) {
    for (const auto& [name, gradient] : train_op.gradients) {
      spec.histograms["gradients/" + name] = gradient;
    }
  }
  return tags;
}

// The names that formulas of summaries may use: the head's tensors and features, and, by group,
// predictions, variables and gradients.
nn::FormulaNames SummaryNames(const SpecParts& parts, const TPUEstimatorSpec& spec,
                              const nn::HeadOutputs& outputs, const nn::TrainOp& train_op) {
  nn::Tensors tensors = outputs.metric_tensors;
  for (const auto& [name, value] : parts.inputs.features) {
    tensors.emplace(nn::FeatureKey(name), value);
  }
  nn::FormulaNames names = nn::MetricFormulaNames(tensors);
  for (const auto& [name, value] : spec.predictions) names.values.emplace(name, value);
  names.groups["predictions"] = spec.predictions;
  for (const auto& variable : parts.layers.graph.variables()) {
    if (variable->trainable) names.groups["variables"].emplace(variable->name, variable->value);
  }
  for (const auto& [name, gradient] : train_op.gradients) {
    names.groups["gradients"].emplace(name, gradient);
  }
  names.values.insert_or_assign("loss", spec.loss);
  if (spec.learning_rate.valid()) {
    names.values.insert_or_assign("learning_rate", spec.learning_rate);
  }
  names.values.emplace("global_step", nn::GetOrCreateGlobalStep(parts.layers.graph)->value);
  return names;
}

// Whether an evaluation has what a formula names: its graph makes no gradients.
bool IsOfTrainingAlone(const FormulaSummary& summary) {
  const std::vector<std::string> names = NamesIn(summary);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "gradients" || name == "learning_rate";
  });
}

// As a model_fn's tf.summary does in each of its modes; hooks of the evaluation write them.
void SetEvaluated(const SpecParts& parts, const nn::HeadOutputs& outputs, TPUEstimatorSpec& spec) {
  spec.summaries = parts.summaries.scalars;
  spec.activations = parts.summaries.activations;
  spec.histograms = parts.summaries.histograms;
  std::vector<FormulaSummary> summaries = parts.job.formula_summaries;
  std::erase_if(summaries, IsOfTrainingAlone);
  if (summaries.empty()) return;
  AddFormulaSummaries(parts.layers.graph, summaries, SummaryNames(parts, spec, outputs, {}), spec);
}

void SetTraining(const SpecParts& parts, const nn::HeadOutputs& outputs, TPUEstimatorSpec& spec) {
  const nn::TrainOp train_op = Minimized(parts, spec.loss);
  if (TellsSum(parts)) spec.loss = ops::CrossReplicaSum(spec.loss, parts.params.replicas);
  spec.train_op = train_op.node;
  spec.learning_rate = train_op.learning_rate;
  spec.summaries = parts.summaries.scalars;
  spec.activations = parts.summaries.activations;
  spec.histograms = parts.summaries.histograms;
  if (train_op.gradient_norm.valid()) spec.summaries[kGradientNorm] = train_op.gradient_norm;
  if (!parts.job.formula_summaries.empty()) {
    AddFormulaSummaries(parts.layers.graph, parts.job.formula_summaries,
                        SummaryNames(parts, spec, outputs, train_op), spec);
  }
  const std::vector<std::string> recorded =
      WithoutHistograms(parts.job.summaries, parts.layers.graph, train_op, spec);
  if (std::all_of(recorded.begin(), recorded.end(),
                  [](const std::string& tag) { return tag.empty(); })) {
    return;
  }
  spec.host_call =
      RecordedCall(recorded, RecordableOf(parts, spec, outputs), parts.layers.graph.registry());
  // Each tag is written once: by the host_call, and not by the loop's own summaries.
  for (const std::string& tag : recorded) spec.summaries.erase(tag);
}

}  // namespace

std::vector<nn::OptimizerPart> PartsOf(const std::optional<nn::PremadeOptimizer>& optimizer) {
  if (!optimizer) return {};
  return {{nn::ByFamily(*optimizer), std::nullopt, ""}};
}

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
                "list only that one in the input_fn's `features`");
  }
  const DType dtype = feature.dtype();
  if (!IsFloating(dtype) && !IsInteger(dtype)) {
    throw Error(Code::kUsage, fmt::format("{} takes numbers, but feature '{}' is {}", model,
                                          names[0], NameOf(dtype)));
  }
  return ops::Cast(feature, compute_dtype);
}

TPUEstimatorSpec BuildSpec(const SpecParts& parts) {
  Graph& graph = parts.layers.graph;
  if (parts.mode != Mode::kTrain && parts.job.embedding_config_spec) {
    nn::KeepTablesByRows(*parts.job.embedding_config_spec, nn::ColumnSet(parts.job.feature_columns),
                         graph);
  }
  nn::HeadInputs head_inputs{.logits = parts.logits,
                             .logits_by_head = parts.logits_by_head,
                             .features = parts.inputs.features,
                             .replicas = parts.params.replicas};
  if (parts.mode != Mode::kPredict) {
    head_inputs.labels = parts.inputs.labels;
    head_inputs.example_weight = parts.inputs.example_weight;
    head_inputs.has_loss = true;
    if (!head_inputs.labels.valid() && !std::holds_alternative<nn::CustomHead>(parts.head)) {
      throw Error(Code::kUsage, "You must provide a labels Tensor. Given: None.",
                  "name them in `labels` of the input_fn");
    }
    head_inputs.regularization_losses = parts.layers.regularization_losses;
    const Value decay = nn::WeightDecayLoss(graph, parts.l2_weight_decay,
                                            TrainedTables(graph, parts.params, parts.job));
    if (decay.valid()) head_inputs.regularization_losses.push_back(decay);
  }
  nn::HeadOutputs outputs = nn::BuildHead(parts.head, head_inputs);
  if (parts.mode != Mode::kPredict) {
    AddNamedFeatures(parts, outputs.metric_tensors);
    AddOutputs(parts, outputs.metric_tensors);
  }

  TPUEstimatorSpec spec{.mode = parts.mode,
                        .predictions = outputs.predictions,
                        .export_outputs = outputs.export_outputs};
  if (parts.mode != Mode::kTrain) {
    if (auto names = UsedAverages(parts); !names.empty()) {
      spec.scaffold_fn = [names = std::move(names)] { return Scaffold{.restore_names = names}; };
    }
  }
  if (parts.mode == Mode::kPredict) {
    if (parts.params.use_tpu) spec.inference_on_tpu = WholeModel(parts);
    return spec;
  }
  spec.loss = outputs.loss;
  spec.label_ranges = nn::LabelRangesOf(parts.head);
  if (parts.mode == Mode::kTrain) SetTraining(parts, outputs, spec);
  if (parts.mode == Mode::kEval) SetEvaluated(parts, outputs, spec);
  // Training builds them, too, so that their faults are found before the first step; of the heads
  // that of model_to_estimator alone hands them on there.
  EvalMetrics metrics = EvalMetricsOf(outputs, MetricsOf(outputs, parts.metrics));
  if (parts.mode == Mode::kEval || std::holds_alternative<nn::KerasHead>(parts.head)) {
    spec.eval_metrics = std::move(metrics);
  }
  return spec;
}

}  // namespace tpuest::models
