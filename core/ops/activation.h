#pragma once
// Element-wise non-linearities of any shape.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

Value Relu(Value x, std::string_view name = "");   // max(x, 0)
Value Relu6(Value x, std::string_view name = "");  // min(max(x, 0), 6)
Value Elu(Value x, std::string_view name = "");    // x if x > 0, otherwise exp(x) - 1
Value Selu(Value x, std::string_view name = "");   // Klambauer et al. 2017, eq. 2
Value LeakyRelu(Value x, float alpha = 0.2F, std::string_view name = "");  // max(x, alpha x)
Value Softplus(Value x, std::string_view name = "");                       // log(1 + exp(x))
Value Softsign(Value x, std::string_view name = "");                       // x / (1 + |x|)

OpFamily ActivationOps();

}  // namespace tpuest::ops
