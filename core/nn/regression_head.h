#pragma once
// tf.estimator.RegressionHead: numbers, by squared error.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/visit.h"
#include "core/nn/head.h"

namespace tpuest::nn {

// logits [B, label_dimension], labels numbers of that shape or, for one dimension, [B].
// Predictions: predictions [B, label_dimension]. Metrics: average_loss, prediction/mean,
// label/mean. Weights may be [B], [B, 1] or of the logits' shape.
struct RegressionHead {
  static constexpr std::string_view kType = "RegressionHead";
  int64_t label_dimension = 1;
  std::optional<std::string> weight_column;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("label_dimension", label_dimension, {.help = "numbers in a label"});
    v("weight_column", weight_column, {.help = "feature that weighs the examples"});
    v("loss_reduction", loss_reduction,
      {.help = "how losses become one", .values = LossReductionNames()});
  }

  [[nodiscard]] int64_t logits_dimension() const { return label_dimension; }
  // Any number will do.
  [[nodiscard]] std::optional<LabelRange> label_range() const { return std::nullopt; }
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
