#pragma once
// The second fusion of a bound graph: merges batch normalisation with its neighbours into single
// passes over the data. The patterns match the parts that core/ops/batch_norm_parts.h makes.
//
//   sum, mean, sum of squared deviations      both sums in one pass
//   normalisation [, addition][, Relu, Relu6]  one pass
//   gradient of Relu or Relu6, its two sums   the activation is read where its gradient is
//   and the normalisation's gradient          read, so the gradient after it is never stored

#include "core/backend/bind.h"

namespace tpuest {

// Like Fused (fusion.h), which calls it.
[[nodiscard]] BoundGraph FusedNorms(BoundGraph bound);

}  // namespace tpuest
