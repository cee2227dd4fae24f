#pragma once
// Conversions of contiguous memory from one dtype to another.

#include <cstddef>

#include "core/tensor/dtype.h"

namespace tpuest {

using CastKernel = void (*)(const void* x, void* y, size_t n);

// Converts as C++ does; bfloat16 goes through float and is rounded to nearest even; any value but 0
// is true. Returns nullptr unless both types are numbers or bool.
[[nodiscard]] CastKernel FindCast(DType from, DType to);

}  // namespace tpuest
