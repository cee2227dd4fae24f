#include "core/nn/heads/binary_class_head.h"

#include "core/nn/heads/head_metrics.h"
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
  const ExportOutput classify{
      ExportKind::kClassification,
      {{"scores", probabilities}, {"classes", outputs.predictions.at("all_classes")}}};
  outputs.export_outputs = {{kDefaultSignature, classify},
                            {"classification", classify},
                            {"regression", {ExportKind::kRegression, {{"outputs", logistic}}}},
                            {kPredictSignature, {ExportKind::kPredict, outputs.predictions}}};
}

void SetMetrics(const BinaryClassHead& head, HeadOutputs& outputs) {
  HeadMetrics metrics(outputs, head.name);
  metrics.Losses();
  metrics.Accuracy("accuracy");
  metrics.PrecisionAndRecall("class_ids");
  metrics.Mean("prediction/mean", "logistic");
  metrics.Mean("label/mean", "labels");
  metrics.Add("accuracy_baseline", [](Graph& graph, const std::string& name, const Tensors& t) {
    return AccuracyBaseline(graph, name, t.at("labels"), MetricWeights(t));
  });
  metrics.AreasUnderCurves("logistic");
  metrics.AtThresholds("logistic", head.thresholds);
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
  Value labels = CheckedLabels(OnlyLabel(inputs), logits, 1);
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
  SetMetrics(*this, outputs);
  return outputs;
}

}  // namespace tpuest::nn
