#pragma once
// tf.estimator.LogisticRegressionHead: numbers in [0, 1], by the logistic function.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"

namespace tpuest::nn {

// A head with the loss of BinaryClassHead and the predictions and metrics of RegressionHead: logits
// [B, 1]; labels [B] or [B, 1] in [0, 1]; predictions are the logistic function of the logits.
struct LogisticRegressionHead {
  static constexpr std::string_view kType = "LogisticRegressionHead";
  static constexpr std::string_view kSummary =
      "one logit with labels between 0 and 1; sigmoid cross-entropy";
  std::optional<std::string> weight_column;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  std::optional<std::string> name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
    v("name", name, {.help = kHeadNameHelp});
  }

  [[nodiscard]] int64_t logits_dimension() const { return 1; }
  [[nodiscard]] LabelRange label_range() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
