#pragma once
// tf.math.l2_normalize.

#include <cstdint>
#include <vector>

#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {

// Returns x divided by its length along the axes: x / sqrt(max(sum(x^2), 1e-12)).
[[nodiscard]] inline Value UnitLength(Value x, const std::vector<int64_t>& axes) {
  constexpr double kSmallest = 1e-12;
  const Value squares = ops::Sum(ops::Square(x), axes, true);
  return ops::Mul(x, ops::Rsqrt(ops::Maximum(squares, kSmallest)));
}

}  // namespace tpuest::nn
