#pragma once
// One update of a variable and its slots, with TensorFlow's formulas (training_ops). var, accum,
// ... are handles; lr, momentum, ... are scalars of the variable's dtype; grad has its shape.
// Sparse ops take grad[i] for row indices[i], each row at most once; index -1 means no row.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// var -= alpha delta
Node* ResourceApplyGradientDescent(Value var, Value alpha, Value delta, std::string_view name = "");
// accum = momentum accum + grad; var -= lr accum, or lr (grad + momentum accum) with Nesterov
struct MomentumInputs {
  Value var, accum, lr, grad, momentum;
  bool use_nesterov = false;
};
Node* ResourceApplyMomentum(const MomentumInputs& inputs, std::string_view name = "");
// Keras' form: accum = momentum accum - lr grad; var += accum, or momentum accum - lr grad with
// Nesterov
Node* ResourceApplyKerasMomentum(const MomentumInputs& inputs, std::string_view name = "");
// rate = lr sqrt(1 - beta2_power) / (1 - beta1_power); m += (1 - beta1)(grad - m); v += (1 -
// beta2)(grad^2 - v); var -= rate m / (sqrt(v) + epsilon), or rate (beta1 m + (1 - beta1) grad) /
// ... with Nesterov
struct AdamInputs {
  Value var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad;
  bool use_nesterov = false;
};
Node* ResourceApplyAdam(const AdamInputs& inputs, std::string_view name = "");
// accum += grad^2 (if update_slots); var -= lr grad / sqrt(accum), V2: / (sqrt(accum) + epsilon)
struct AdagradInputs {
  Value var, accum, lr, grad;
  Value epsilon;  // V2 only
  bool update_slots = true;
};
Node* ResourceApplyAdagrad(const AdagradInputs& inputs, std::string_view name = "");
Node* ResourceApplyAdagradV2(const AdagradInputs& inputs, std::string_view name = "");
// ms += (1 - rho)(grad^2 - ms); mom = momentum mom + lr grad / sqrt(ms + epsilon); var -= mom.
// Centered: mg += (1 - rho)(grad - mg), and ms - mg^2 replaces ms under the root
struct RMSPropInputs {
  Value var, ms, mom, lr, rho, momentum, epsilon, grad;
  Value mg;  // centered only
};
Node* ResourceApplyRMSProp(const RMSPropInputs& inputs, std::string_view name = "");
Node* ResourceApplyCenteredRMSProp(const RMSPropInputs& inputs, std::string_view name = "");
// shrunk = grad + 2 l2_shrinkage var (V2; otherwise grad); next = accum + grad^2; linear += shrunk
// - (next^-lr_power - accum^-lr_power) / lr var; var = |linear| > l1 ? (sign(linear) l1 - linear) /
// (next^-lr_power / lr + 2 l2) : 0; accum = next. With multiply_linear_by_lr the slot holds lr
// times linear.
struct FtrlInputs {
  Value var, accum, linear, grad, lr, l1, l2, lr_power;
  Value l2_shrinkage;  // V2 only
  bool multiply_linear_by_lr = false;
};
Node* ResourceApplyFtrl(const FtrlInputs& inputs, std::string_view name = "");
Node* ResourceApplyFtrlV2(const FtrlInputs& inputs, std::string_view name = "");

// Applies the formulas above to the rows `indices` (int32 or int64 [n]) of grad [n, ...].
Node* ResourceSparseApplyMomentum(const MomentumInputs& inputs, Value indices,
                                  std::string_view name = "");
Node* ResourceSparseApplyKerasMomentum(const MomentumInputs& inputs, Value indices,
                                       std::string_view name = "");
Node* ResourceSparseApplyRMSProp(const RMSPropInputs& inputs, Value indices,
                                 std::string_view name = "");
Node* ResourceSparseApplyCenteredRMSProp(const RMSPropInputs& inputs, Value indices,
                                         std::string_view name = "");
Node* ResourceSparseApplyAdagrad(const AdagradInputs& inputs, Value indices,
                                 std::string_view name = "");
Node* ResourceSparseApplyAdagradV2(const AdagradInputs& inputs, Value indices,
                                   std::string_view name = "");
Node* ResourceSparseApplyFtrl(const FtrlInputs& inputs, Value indices, std::string_view name = "");
Node* ResourceSparseApplyFtrlV2(const FtrlInputs& inputs, Value indices,
                                std::string_view name = "");

OpFamily TrainingOps();     // gradient descent, momentum, Adam, RMSProp; dense and sparse
OpFamily AdaptiveRowOps();  // Adagrad and Ftrl, dense and sparse

}  // namespace tpuest::ops
