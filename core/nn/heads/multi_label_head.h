#pragma once
// tf.estimator.MultiLabelHead: any subset of n_classes, each class by the logistic function.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"
#include "core/nn/label_vocabulary.h"

namespace tpuest::nn {

// Takes logits [B, n_classes] and labels in one of three forms: multi-hot [B, n_classes], 1 for
// each class of the example, otherwise 0; with a label_vocabulary, strings [B] or [B, K], an
// example's words, padded with "" to K; or integers [B, K], K not known to the graph, an example's
// class numbers, padded with -1. The loss of an example is its mean over the classes. Predictions:
// logits, probabilities [B, n_classes] and classes, the names of all classes, strings of that
// shape. Metrics count each class of each example: average_loss, auc, auc_precision_recall, for
// each threshold t accuracy/positive_threshold_t, precision/..., recall/..., and for each class c
// of classes_for_class_based_metrics probability_mean/class<c>, auc/class<c>,
// auc_precision_recall/class<c>; a label_vocabulary replaces "class<c>" by the class's word.
struct MultiLabelHead {
  static constexpr std::string_view kType = "MultiLabelHead";
  static constexpr std::string_view kSummary =
      "one logit per class, of which any number may be true";
  using Class = std::variant<int64_t, std::string>;  // its number or word
  int64_t n_classes = 0;
  std::optional<std::string> weight_column;
  std::vector<double> thresholds;
  LabelVocabulary label_vocabulary;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  std::vector<Class> classes_for_class_based_metrics;
  std::optional<std::string> name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("n_classes", n_classes, {.help = "number of classes, more than 1", .required = true});
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("thresholds", thresholds, {.help = "probabilities in (0, 1) at which to evaluate"});
    v("label_vocabulary", label_vocabulary, {.help = "names of the classes"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
    v("classes_for_class_based_metrics", classes_for_class_based_metrics,
      {.help = "classes, by number or name, that get their own metrics"});
    v("name", name, {.help = kHeadNameHelp});
  }

  [[nodiscard]] int64_t logits_dimension() const { return n_classes; }
  [[nodiscard]] LabelRange label_range() const;
  // Throws Error kUsage, in TensorFlow's words, for invalid options.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
