#pragma once
// A bias along the last axis.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// x [..., C] + bias [C]; the rank of x is at least 2.
Value BiasAdd(Value x, Value bias, std::string_view name = "");
// Sums [..., C] over all axes except the last -> [C].
Value BiasAddGrad(Value dy, std::string_view name = "");

OpFamily BiasOps();

}  // namespace tpuest::ops
