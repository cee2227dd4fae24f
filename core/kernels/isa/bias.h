#pragma once
// A bias [channels] along the last axis of [rows, channels].

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

// y = x + bias; x and y may be the same memory.
using BiasKernel = void (*)(const void* x, const void* bias, void* y, int64_t rows,
                            int64_t channels);
// dbias = dy summed over the rows.
using BiasGradKernel = void (*)(const void* dy, void* dbias, int64_t rows, int64_t channels);

// For bfloat16, float or double.
[[nodiscard]] BiasKernel FindBias(DType dtype);
// `result` is dtype; for bfloat16 it may also be float.
[[nodiscard]] BiasGradKernel FindBiasGrad(DType dtype, DType result);

}  // namespace tpuest
