#pragma once
// Sums of arrays in one fixed binary tree, whatever computes them: n arrays are the sum of the
// first 2^k (the largest power of two below n) and the sum of the rest.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/tensor/dtype.h"

namespace tpuest {

// Elements [begin, end) of dst become the sums over arrays array(0) .. array(count - 1), which hold
// float, double, bfloat16 (added in float), int32 or int64. dst may be one of the arrays.
void TreeSum(DType dtype, int count, const std::function<const void*(int)>& array, void* dst,
             int64_t begin, int64_t end);

}  // namespace tpuest
