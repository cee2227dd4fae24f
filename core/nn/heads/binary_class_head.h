#pragma once
// tf.estimator.BinaryClassHead: two classes, by the logistic function.

#include <optional>
#include <string>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"
#include "core/nn/label_vocabulary.h"

namespace tpuest::nn {

// Takes logits [B, 1] and labels [B] or [B, 1]: numbers in [0, 1], integers or floats, or the two
// strings of label_vocabulary, which classes and all_classes then repeat. Predictions: logits,
// logistic, class_ids int64, classes [B, 1]; probabilities, all_class_ids, all_classes [B, 2].
// Metrics: average_loss, accuracy, precision, recall, prediction/mean, label/mean,
// accuracy_baseline, auc, auc_precision_recall and, for each threshold t,
// accuracy/positive_threshold_t, precision/..., recall/....
struct BinaryClassHead {
  static constexpr std::string_view kType = "BinaryClassHead";
  static constexpr std::string_view kSummary = "one logit for two classes; sigmoid cross-entropy";
  std::optional<std::string> weight_column;
  std::vector<double> thresholds;
  LabelVocabulary label_vocabulary;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  std::optional<std::string> name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("thresholds", thresholds, {.help = "probabilities in (0, 1) at which to evaluate"});
    v("label_vocabulary", label_vocabulary,
      {.help = "names of the classes; string labels are looked up in this list"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
    v("name", name, {.help = kHeadNameHelp});
  }

  [[nodiscard]] int64_t logits_dimension() const { return 1; }
  [[nodiscard]] LabelRange label_range() const;
  // Throws Error kUsage, in TensorFlow's words, for invalid options.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
