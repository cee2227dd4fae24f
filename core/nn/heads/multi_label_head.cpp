#include "core/nn/heads/multi_label_head.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/nn/heads/head_metrics.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

[[noreturn]] void Refuse(std::string message, std::string hint = "") {
  throw Error(Code::kUsage, std::move(message), std::move(hint));
}

int64_t IdOfWord(const MultiLabelHead& head, const std::string& word) {
  const LabelVocabulary& words = head.label_vocabulary;
  if (words.empty()) {
    Refuse("label_vocabulary must be provided when classes_for_class_based_metrics are strings.");
  }
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    const auto nearest = Nearest(word, words);
    Refuse(fmt::format("class '{}' of classes_for_class_based_metrics is not in label_vocabulary",
                       word),
           nearest ? fmt::format("did you mean '{}'?", *nearest) : "");
  }
  return found - words.begin();
}

int64_t IdOf(const MultiLabelHead& head, const MultiLabelHead::Class& which) {
  if (const auto* word = std::get_if<std::string>(&which)) return IdOfWord(head, *word);
  const int64_t id = std::get<int64_t>(which);
  if (id < 0 || id >= head.n_classes) {
    Refuse(fmt::format("All classes_for_class_based_metrics must be in range [0, {}]. Given: {}",
                       head.n_classes - 1, id));
  }
  return id;
}

void SetPredictions(const MultiLabelHead& head, Value logits, HeadOutputs& outputs) {
  const NameScope scope(logits.graph(), "predictions");
  const Value probabilities = ops::Sigmoid(logits, "probabilities");
  const Value classes = ClassNames(head.label_vocabulary, AllClassIds(logits));
  outputs.predictions = {
      {"logits", logits}, {"probabilities", probabilities}, {"classes", classes}};
  const ExportOutput classify{ExportKind::kClassification,
                              {{"scores", probabilities}, {"classes", classes}}};
  outputs.export_outputs = {{kDefaultSignature, classify},
                            {"classification", classify},
                            {kPredictSignature, {ExportKind::kPredict, outputs.predictions}}};
}

// Class ids [B, K] as multi-hot float32 [B, n_classes]; -1 is none.
Value MultiHot(const MultiLabelHead& head, Value ids) {
  const Value each = ops::OneHot(ids, {.depth = static_cast<int>(head.n_classes)});
  return ops::Max(each, {1}, false, "labels");
}

// The words [B] or [B, K] likewise; "" is no word.
Value MultiHotOfWords(const MultiLabelHead& head, Value words) {
  if (head.label_vocabulary.empty()) {
    Refuse(
        "labels are strings, but MultiLabelHead has no label_vocabulary",
        "label_vocabulary: [red, green] names the classes; without it labels are 0 or 1 for each "
        "class");
  }
  if (words.shape().known_rank() && words.shape().rank() == 1) words = ops::ExpandDims(words, -1);
  if (!words.shape().known_rank() || words.shape().rank() != 2) {
    Refuse(fmt::format("labels shape must be [D0, D1, ... DN, ?] for strings, got {}",
                       words.shape().Text()));
  }
  return MultiHot(head, LabelIds(words, head.label_vocabulary));
}

// Labels of any length: TensorFlow's SparseTensor.
bool IsList(Value labels) {
  const Shape& shape = labels.shape();
  return shape.known_rank() && shape.rank() == 2 && shape.dim(1) == kUnknownDim;
}

Value LabelsOf(const MultiLabelHead& head, Value labels, Value logits) {
  if (labels.dtype() == DType::kString) return MultiHotOfWords(head, labels);
  if (IsList(labels)) {
    if (IsInteger(labels.dtype())) return MultiHot(head, labels);
    Refuse(fmt::format("Labels dtype should be integer. Instead got {}.", NameOf(labels.dtype())),
           "lists must hold class numbers: dtype: int64");
  }
  return FloatLabels(CheckedLabels(labels, logits, head.n_classes));
}

void SetMetrics(const MultiLabelHead& head, HeadOutputs& outputs) {
  HeadMetrics metrics(outputs, head.name);
  metrics.Losses();
  metrics.AreasUnderCurves("logistic");
  metrics.AtThresholds("logistic", head.thresholds);
  for (const MultiLabelHead::Class& which : head.classes_for_class_based_metrics) {
    const int64_t id = IdOf(head, which);
    const std::string name = head.label_vocabulary.empty()
                                 ? fmt::format("class{}", id)
                                 : head.label_vocabulary[static_cast<size_t>(id)];
    metrics.Add("probability_mean/" + name,
                [id](Graph& graph, const std::string& key, const Tensors& t) {
                  return MeanMetric(graph, key, ColumnOf(t.at("logistic"), id), MetricWeights(t));
                });
    metrics.AreasUnderCurves("logistic", id, name);
  }
}

}  // namespace

LabelRange MultiLabelHead::label_range() const {
  constexpr const char* kMessage =
      "labels must be an integer indicator Tensor with values in [0, 1]";
  return {.min = 0,
          .max = 1,
          .below = kMessage,
          .above = kMessage,
          .vocabulary = label_vocabulary,
          .lists = true,
          .classes = n_classes,
          .outside = fmt::format("labels must be an integer SparseTensor with values in [0, {})",
                                 n_classes)};
}

void MultiLabelHead::CheckOptions() const {
  if (n_classes < 2) {
    Refuse(
        fmt::format("n_classes must be > 1 for multi-label classification. Given: {}", n_classes),
        "use BinaryClassHead for one class");
  }
  for (const double threshold : thresholds) {
    if (threshold <= 0 || threshold >= 1) {
      Refuse(fmt::format("thresholds must be in (0, 1) range. Given: {}", threshold));
    }
  }
  if (!label_vocabulary.empty() && static_cast<int64_t>(label_vocabulary.size()) != n_classes) {
    Refuse(fmt::format("Length of label_vocabulary must be n_classes ({}). Given: {}", n_classes,
                       label_vocabulary.size()));
  }
  CheckLabelVocabulary(label_vocabulary, n_classes);
  (void)ParseLossReduction(loss_reduction);
  for (const Class& which : classes_for_class_based_metrics) (void)IdOf(*this, which);
}

HeadOutputs MultiLabelHead::Build(const HeadInputs& inputs) const {
  CheckOptions();
  HeadOutputs outputs;
  const Value logits = CheckedLogits(inputs.logits, n_classes);
  SetPredictions(*this, logits, outputs);
  if (!inputs.labels.valid()) return outputs;

  const NameScope scope(logits.graph(), "losses");
  const Value labels = LabelsOf(*this, OnlyLabel(inputs), logits);
  const Value losses = ops::Mean(SigmoidCrossEntropy(logits, labels), {1}, true);
  const Value weights = WeightColumn(weight_column.value_or(""), inputs, false);
  SetLoss(inputs, logits, labels, losses, weights, loss_reduction, outputs);
  outputs.metric_tensors["logistic"] = outputs.predictions.at("probabilities");
  SetMetrics(*this, outputs);
  return outputs;
}

}  // namespace tpuest::nn
