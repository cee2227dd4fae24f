#pragma once
// tf.estimator.MultiClassHead: one of n_classes, by softmax.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"
#include "core/nn/label_vocabulary.h"

namespace tpuest::nn {

// Takes logits [B, n_classes] and labels [B] or [B, 1]: integers in 0 .. n_classes - 1, or strings
// of label_vocabulary, which classes and all_classes then repeat. Predictions: logits,
// probabilities [B, n_classes]; class_ids int64, classes [B, 1]; all_class_ids, all_classes [B,
// n_classes]. Metrics: average_loss, accuracy.
struct MultiClassHead {
  static constexpr std::string_view kType = "MultiClassHead";
  static constexpr std::string_view kSummary =
      "one logit per class, of which one is true; softmax cross-entropy";
  int64_t n_classes = 0;
  std::optional<std::string> weight_column;
  LabelVocabulary label_vocabulary;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  double label_smoothing = 0.0;
  std::optional<std::string> name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("n_classes", n_classes, {.help = "number of classes, more than 2", .required = true});
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("label_vocabulary", label_vocabulary,
      {.help = "names of the classes; string labels are looked up in this list"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
    v("label_smoothing", label_smoothing,
      {.help = "share of the target that is spread over all classes", .tpuest = true});
    v("name", name, {.help = kHeadNameHelp});
  }

  [[nodiscard]] int64_t logits_dimension() const { return n_classes; }
  [[nodiscard]] LabelRange label_range() const;
  // Throws Error kUsage for invalid options.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
