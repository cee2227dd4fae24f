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

// The type that arrays of a type are added in: float for bfloat16, all others their own.
[[nodiscard]] DType AddedIn(DType dtype);
// The same, with the sums in that type, for a sum that goes on elsewhere.
void UnroundedTreeSum(DType dtype, int count, const std::function<const void*(int)>& array,
                      void* dst, int64_t begin, int64_t end);

// to += from, both of n elements of a type that AddedIn gives.
void AddArray(DType dtype, const void* from, void* to, int64_t n);

}  // namespace tpuest
