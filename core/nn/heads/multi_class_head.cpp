#include "core/nn/heads/multi_class_head.h"

#include "core/nn/heads/head_metrics.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

void SetClassPredictions(Value logits, const LabelVocabulary& vocabulary, HeadOutputs& outputs) {
  const NameScope scope(logits.graph(), "predictions");
  const Value probabilities = ops::Softmax(logits, "probabilities");
  const Value class_ids = ops::ExpandDims(ops::ArgMax(logits, -1, DType::kInt64, "class_ids"), -1);
  outputs.predictions = {{"logits", logits},
                         {"probabilities", probabilities},
                         {"class_ids", class_ids},
                         {"all_class_ids", AllClassIds(logits)}};
  AddClassNames(vocabulary, outputs.predictions);
  const ExportOutput classify{
      ExportKind::kClassification,
      {{"scores", probabilities}, {"classes", outputs.predictions.at("all_classes")}}};
  outputs.export_outputs = {{kDefaultSignature, classify},
                            {"classification", classify},
                            {kPredictSignature, {ExportKind::kPredict, outputs.predictions}}};
}

}  // namespace

LabelRange MultiClassHead::label_range() const {
  return {.min = 0,
          .max = static_cast<double>(n_classes - 1),
          .below = "Labels must be >= 0",
          .above = "Labels must be <= n_classes - 1",
          .vocabulary = label_vocabulary};
}

void MultiClassHead::CheckOptions() const {
  if (n_classes <= 2) {
    throw Error(Code::kUsage, fmt::format("n_classes must be > 2: {}.", n_classes),
                "use BinaryClassHead for two classes");
  }
  if (!(label_smoothing >= 0 && label_smoothing < 1)) {
    throw Error(Code::kUsage, fmt::format("label_smoothing is {}, expected at least 0 and below 1",
                                          label_smoothing));
  }
  CheckLabelVocabulary(label_vocabulary, n_classes);
  (void)ParseLossReduction(loss_reduction);
}

HeadOutputs MultiClassHead::Build(const HeadInputs& inputs) const {
  CheckOptions();
  HeadOutputs outputs;
  const Value logits = CheckedLogits(inputs.logits, n_classes);
  SetClassPredictions(logits, label_vocabulary, outputs);
  if (!inputs.labels.valid()) return outputs;

  const NameScope scope(logits.graph(), "losses");
  Value labels = CheckedLabels(OnlyLabel(inputs), logits, 1);
  if (!label_vocabulary.empty()) {
    labels = LabelIds(labels, label_vocabulary);
  } else if (!IsInteger(labels.dtype())) {
    throw Error(
        Code::kUsage,
        fmt::format("Labels dtype should be integer. Instead got {}.", NameOf(labels.dtype())),
        labels.dtype() == DType::kString
            ? "label_vocabulary: [...] in the head names the classes"
            : "a map op {op: cast, in: ..., dtype: int32} converts them");
  }
  if (labels.dtype() != DType::kInt64) labels = ops::Cast(labels, DType::kInt32);
  const Value losses = SparseSoftmaxCrossEntropy(logits, labels, label_smoothing);
  const Value weights = WeightColumn(weight_column.value_or(""), inputs, false);
  SetLoss(inputs, logits, labels, losses, weights, loss_reduction, outputs);
  outputs.metric_tensors["class_ids"] = outputs.predictions.at("class_ids");
  outputs.metric_tensors["probabilities"] = outputs.predictions.at("probabilities");
  HeadMetrics metrics(outputs, name);
  metrics.Losses();
  metrics.Accuracy("accuracy");
  return outputs;
}

}  // namespace tpuest::nn
