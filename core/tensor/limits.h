#pragma once
// The maximum size of a tensor that a file or a job requests.

#include <cstdint>

#include "core/tensor/shape.h"

namespace tpuest {

// Larger than any memory, and far enough below 2^63 that bytes, and sums of them, do not overflow.
inline constexpr int64_t kMostElements = int64_t{1} << 48;

// True if each dimension is a size or kUnknownDim, and the product of all sizes except 0 is at most
// kMostElements; then no product of some of them overflows.
[[nodiscard]] bool IsCountable(const Shape& shape);

}  // namespace tpuest
