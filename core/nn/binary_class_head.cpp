#include "core/nn/binary_class_head.h"

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

void SetPredictions(Value logits, const LabelVocabulary& vocabulary, HeadOutputs& outputs) {
  const NameScope scope(logits.graph(), "predictions");
  const Value logistic = ops::Sigmoid(logits, "logistic");
  const Value two_class_logits =
      ops::ConcatV2({ops::ZerosLike(logits), logits}, -1, "two_class_logits");
  const Value probabilities = ops::Softmax(two_class_logits, "probabilities");
  const Value class_ids =
      ops::ExpandDims(ops::ArgMax(two_class_logits, -1, DType::kInt64, "class_ids"), -1);
  outputs.predictions = {{"logits", logits},
                         {"logistic", logistic},
                         {"probabilities", probabilities},
                         {"class_ids", class_ids},
                         {"all_class_ids", AllClassIds(two_class_logits)}};
  AddClassNames(vocabulary, outputs.predictions);
  const HeadSignature classify{
      SignatureKind::kClassification,
      {{"scores", probabilities}, {"classes", outputs.predictions.at("all_classes")}}};
  outputs.signatures = {{"serving_default", classify},
                        {"classification", classify},
                        {"regression", {SignatureKind::kRegression, {{"outputs", logistic}}}},
                        {"predict", {SignatureKind::kPredict, outputs.predictions}}};
}

using ConfusionMetric = Metric (*)(Graph&, const std::string&, Value, Value, Value, double);

MetricBuilder At(const std::string& name, ConfusionMetric metric, const std::string& predictions,
                 double threshold) {
  return [=](Graph& graph, const Tensors& t) {
    return metric(graph, name, t.at(predictions), t.at("labels"), MetricWeights(t), threshold);
  };
}

// How often the label is what the probability says at this threshold.
Metric ThresholdAccuracy(Graph& graph, const std::string& name, Value predictions, Value labels,
                         Value weights, double threshold) {
  const Value cut = graph.ScalarOf(DType::kFloat, threshold, "threshold");
  const Value predicted = ops::Cast(ops::Greater(predictions, cut), DType::kFloat);
  return AccuracyMetric(graph, name, labels, predicted, weights);
}

MetricBuilder MeanOf(const std::string& name, const std::string& tensor) {
  return [=](Graph& graph, const Tensors& t) {
    return MeanMetric(graph, name, t.at(tensor), MetricWeights(t));
  };
}

MetricBuilder AreaUnder(const std::string& name, AucCurve curve) {
  return [=](Graph& graph, const Tensors& t) {
    return AucMetric(graph, name, t.at("logistic"), t.at("labels"), MetricWeights(t), curve);
  };
}

void SetMetrics(const std::vector<double>& thresholds, HeadOutputs& outputs) {
  AddLossMetrics(outputs);
  MetricBuilders& metrics = outputs.metrics;
  metrics["accuracy"] = [](Graph& graph, const Tensors& t) {
    return AccuracyMetric(graph, "accuracy", t.at("labels"), t.at("class_ids"), MetricWeights(t));
  };
  metrics["precision"] = At("precision", PrecisionMetric, "class_ids", 0.5);
  metrics["recall"] = At("recall", RecallMetric, "class_ids", 0.5);
  metrics["prediction/mean"] = MeanOf("prediction/mean", "logistic");
  metrics["label/mean"] = MeanOf("label/mean", "labels");
  metrics["accuracy_baseline"] = [](Graph& graph, const Tensors& t) {
    return AccuracyBaseline(graph, "accuracy_baseline", t.at("labels"), MetricWeights(t));
  };
  metrics["auc"] = AreaUnder("auc", AucCurve::kRoc);
  metrics["auc_precision_recall"] = AreaUnder("auc_precision_recall", AucCurve::kPr);
  for (const double threshold : thresholds) {
    const auto add = [&](const char* what, ConfusionMetric metric) {
      const std::string name = fmt::format("{}/positive_threshold_{:g}", what, threshold);
      metrics[name] = At(name, metric, "logistic", threshold);
    };
    add("accuracy", ThresholdAccuracy);
    add("precision", PrecisionMetric);
    add("recall", RecallMetric);
  }
}

}  // namespace

LabelRange BinaryClassHead::label_range() const {
  return {.min = 0,
          .max = 1,
          .below = "Labels must be >= 0",
          .above = "Labels must be <= n_classes - 1",
          .vocabulary = label_vocabulary};
}

void BinaryClassHead::CheckOptions() const {
  for (const double threshold : thresholds) {
    if (threshold <= 0 || threshold >= 1) {
      throw Error(Code::kUsage, fmt::format("thresholds not in (0, 1): {}.", threshold));
    }
  }
  CheckLabelVocabulary(label_vocabulary, 2);
  (void)ParseLossReduction(loss_reduction);
}

HeadOutputs BinaryClassHead::Build(const HeadInputs& inputs) const {
  CheckOptions();
  HeadOutputs outputs;
  const Value logits = CheckedLogits(inputs.logits, 1);
  SetPredictions(logits, label_vocabulary, outputs);
  if (!inputs.labels.valid()) return outputs;

  const NameScope scope(logits.graph(), "losses");
  Value labels = CheckedLabels(inputs.labels, logits, 1);
  if (!label_vocabulary.empty()) {
    labels = LabelIds(labels, label_vocabulary);
  } else if (labels.dtype() == DType::kString) {
    throw Error(Code::kUsage,
                "Labels dtype should be a number without a vocabulary. Instead got "
                "string.",
                "label_vocabulary: [no, yes] in the head names the classes");
  }
  labels = ops::Cast(labels, DType::kFloat, "labels");
  const Value losses = SigmoidCrossEntropy(logits, labels);
  const Value weights = WeightColumn(weight_column.value_or(""), inputs, false);
  SetLoss(inputs, logits, labels, losses, weights, loss_reduction, outputs);
  for (const char* const key : {"class_ids", "probabilities", "logistic"}) {
    outputs.metric_tensors[key] = outputs.predictions.at(key);
  }
  SetMetrics(thresholds, outputs);
  return outputs;
}

}  // namespace tpuest::nn
