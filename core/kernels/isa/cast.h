#pragma once
// Conversions of contiguous memory from one dtype to another.

#include <cstddef>

#include "core/tensor/dtype.h"

namespace tpuest {

using CastKernel = void (*)(const void* x, void* y, size_t n);

// C++'s conversions; bfloat16 goes through float and is rounded to nearest even; what is not 0 is
// true. nullptr unless both are numbers or bool.
[[nodiscard]] CastKernel FindCast(DType from, DType to);

}  // namespace tpuest
