#pragma once
// How large a tensor may be that a file or a job asks for.

#include <cstdint>

#include "core/tensor/shape.h"

namespace tpuest {

// Beyond any memory, and far enough from 2^63 that bytes, and sums of them, can be counted.
inline constexpr int64_t kMostElements = int64_t{1} << 48;

// True where each dimension is a size or kUnknownDim, and the sizes, 0 aside, multiply to at most
// kMostElements: no product of some of them overflows then.
[[nodiscard]] bool IsCountable(const Shape& shape);

}  // namespace tpuest
