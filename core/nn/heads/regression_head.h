#pragma once
// tf.estimator.RegressionHead: numbers, by squared error; also the code that other regression heads
// share.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"

namespace tpuest::nn {

// The names of the functions that turn logits into predictions, as a job writes them; TensorFlow's
// names.
[[nodiscard]] const std::vector<std::string_view>& InverseLinkNames();

// For labels far from 0 or much larger or smaller than 1: the network learns (label - mean) / std,
// and the head reports everything else in the labels' own unit.
struct LabelScaling {
  double mean = 0;
  double std = 1;

  template <class V>
  void Visit(V& v) {
    v("mean", mean,
      {.help = "mean to subtract from every label", .required = true, .tpuest = true});
    v("std", std,
      {.help = "standard deviation to divide labels by, after subtracting the mean",
       .required = true,
       .tpuest = true});
  }
};
inline constexpr std::string_view kLabelScalingHelp =
    "train on (label - mean) / std; predictions, metrics and exports stay in the unit of the "
    "labels";

// Takes logits [B, label_dimension] and numeric labels of that shape or, if label_dimension is 1,
// [B]. Predictions: predictions [B, label_dimension] and, with an inverse_link_fn, logits. Metrics:
// average_loss, prediction/mean, label/mean. Weights may be [B], [B, 1] or of the logits' shape.
// The loss compares the labels with the logits, whatever the inverse_link_fn. With label_scaling
// the loss compares scaled labels, predictions are logits * std + mean, and average_loss compares
// predictions with the unscaled labels.
struct RegressionHead {
  static constexpr std::string_view kType = "RegressionHead";
  static constexpr std::string_view kSummary = "numbers; squared error";
  int64_t label_dimension = 1;
  std::optional<std::string> weight_column;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  std::optional<std::string> inverse_link_fn;
  std::optional<std::string> name;
  std::optional<LabelScaling> label_scaling;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("label_dimension", label_dimension, {.help = "width of a label"});
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
    v("inverse_link_fn", inverse_link_fn,
      {.help = "function that turns logits into predictions", .values = InverseLinkNames()});
    v("name", name, {.help = kHeadNameHelp});
    v("label_scaling", label_scaling, {.help = kLabelScalingHelp, .tpuest = true});
  }

  [[nodiscard]] int64_t logits_dimension() const { return label_dimension; }
  // Labels may be any number.
  [[nodiscard]] std::optional<LabelRange> label_range() const { return std::nullopt; }
  // Throws Error kUsage, in TensorFlow's words, for invalid options.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

// ---- for the heads that are regressions of another loss -----------------------------------------

// A regression with another loss than squared error.
struct Regression {
  const RegressionHead& head;
  // Returns the losses [B, D] of logits and labels, both float32 [B, D].
  std::function<Value(Value logits, Value labels)> loss;
};

[[nodiscard]] HeadOutputs BuildRegression(const Regression& regression, const HeadInputs& inputs);

}  // namespace tpuest::nn
