#pragma once
// Sums arrays along one fixed binary tree, for any number of threads: the sum of n arrays is the
// sum of the first 2^k (the largest power of two below n) plus the sum of the rest.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/tensor/dtype.h"

namespace tpuest {

// Sets elements [begin, end) of dst to the sums over array(0) .. array(count - 1), which hold
// float, double, bfloat16 (added in float), int32 or int64. dst may be one of the arrays.
void TreeSum(DType dtype, int count, const std::function<const void*(int)>& array, void* dst,
             int64_t begin, int64_t end);

// The dtype in which arrays are added: float for bfloat16, otherwise the arrays' own.
[[nodiscard]] DType AddedIn(DType dtype);
// TreeSum with results of type AddedIn(dtype), for a sum that is continued elsewhere.
void UnroundedTreeSum(DType dtype, int count, const std::function<const void*(int)>& array,
                      void* dst, int64_t begin, int64_t end);

// to += from, both with n elements of a type that AddedIn returns.
void AddArray(DType dtype, const void* from, void* to, int64_t n);

}  // namespace tpuest
