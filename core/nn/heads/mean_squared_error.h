#pragma once
// tf.losses.mean_squared_error for a model_fn without a head, with predictions under a chosen name.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"

namespace tpuest::nn {

// Takes logits [B, D] and numeric labels of that shape or, if D is 1, [B]. Predictions:
// `prediction` [B, D]; it sets no export_outputs, so they form the signature serving_default. Adds
// no metrics. Weights may be [B], [B, 1] or of the logits' shape.
struct MeanSquaredError {
  static constexpr std::string_view kType = "mean_squared_error";
  static constexpr std::string_view kSummary =
      "numbers; the mean squared error, without further metrics";
  std::string prediction = "predictions";
  int64_t label_dimension = 1;
  std::optional<std::string> weight_column;
  std::string reduction = "SUM_BY_NONZERO_WEIGHTS";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("prediction", prediction, {.help = "name of the prediction", .tpuest = true});
    v("label_dimension", label_dimension, {.help = "width of a label", .tpuest = true});
    v("weight_column", weight_column,
      {.help = "feature that holds the weights of examples", .tpuest = true});
    v("reduction", reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
  }

  [[nodiscard]] int64_t logits_dimension() const { return label_dimension; }
  // Labels may be any number.
  [[nodiscard]] std::optional<LabelRange> label_range() const { return std::nullopt; }
  // Throws Error kUsage for invalid options.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
