#include "core/nn/heads/poisson_regression_head.h"

#include "core/nn/heads/regression_head.h"

namespace tpuest::nn {

HeadOutputs PoissonRegressionHead::Build(const HeadInputs& inputs) const {
  const RegressionHead regression{.label_dimension = label_dimension,
                                  .weight_column = weight_column,
                                  .loss_reduction = loss_reduction,
                                  .inverse_link_fn = "exp",
                                  .name = name};
  const auto loss = [this](Value logits, Value labels) {
    return LogPoissonLoss(logits, labels, compute_full_loss);
  };
  return BuildRegression({regression, loss}, inputs);
}

}  // namespace tpuest::nn
