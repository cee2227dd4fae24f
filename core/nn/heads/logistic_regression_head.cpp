#include "core/nn/heads/logistic_regression_head.h"

#include "core/nn/heads/regression_head.h"

namespace tpuest::nn {

LabelRange LogisticRegressionHead::label_range() const {
  constexpr const char* kMessage = "Labels must be in range [0, 1]";
  return {.min = 0, .max = 1, .below = kMessage, .above = kMessage};
}

HeadOutputs LogisticRegressionHead::Build(const HeadInputs& inputs) const {
  const RegressionHead regression{.weight_column = weight_column,
                                  .loss_reduction = loss_reduction,
                                  .inverse_link_fn = "sigmoid",
                                  .name = name};
  return BuildRegression({regression, SigmoidCrossEntropy}, inputs);
}

}  // namespace tpuest::nn
