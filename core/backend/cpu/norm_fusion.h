#pragma once
// The second fusion of a bound graph: batch normalisation with what stands beside it, so that each
// is one pass over the data. The patterns are of the parts that core/ops/batch_norm_parts.h makes.
//
//   sum, mean, sum of squared deviations      both sums in one pass
//   normalisation [, addition][, Relu, Relu6]  one pass
//   gradient of Relu or Relu6, its two sums   the activation is looked at where its gradient is
//   and the normalisation's gradient          read, so that a gradient behind it is never stored

#include "core/backend/bind.h"

namespace tpuest {

// As Fused (fusion.h), of which it is a part.
[[nodiscard]] BoundGraph FusedNorms(BoundGraph bound);

}  // namespace tpuest
