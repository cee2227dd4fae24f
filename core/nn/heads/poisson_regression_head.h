#pragma once
// tf.estimator.PoissonRegressionHead: counts, by the likelihood of a Poisson distribution.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"

namespace tpuest::nn {

// A RegressionHead whose logits are the logarithms of the predictions: predictions are exp(logits),
// and the loss is LogPoissonLoss.
struct PoissonRegressionHead {
  static constexpr std::string_view kType = "PoissonRegressionHead";
  static constexpr std::string_view kSummary =
      "counts; Poisson loss of the logarithm of their mean";
  int64_t label_dimension = 1;
  std::optional<std::string> weight_column;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  bool compute_full_loss = true;
  std::optional<std::string> name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("label_dimension", label_dimension, {.help = "width of a label"});
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = LossReductionNames()});
    v("compute_full_loss", compute_full_loss,
      {.help = "include log(label!) in the loss; it has no gradient"});
    v("name", name, {.help = kHeadNameHelp});
  }

  [[nodiscard]] int64_t logits_dimension() const { return label_dimension; }
  // Labels may be any number.
  [[nodiscard]] std::optional<LabelRange> label_range() const { return std::nullopt; }
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
