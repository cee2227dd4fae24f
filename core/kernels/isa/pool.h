#pragma once
// Pooling over windows of images [N, H, W, C]: bfloat16, float, double.

#include <cstdint>

#include "core/kernels/isa/conv_shape.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// dilation is 1 on both axes; every window covers some of the image.
struct PoolShape {
  int64_t batch = 0;
  WindowAxis height;
  WindowAxis width;
  int64_t channels = 0;
};

struct PoolKernels {
  // y = the largest value of each window; NaN wins.
  void (*max)(const PoolShape&, const void* x, void* y);
  // max, then max(y, 0); NaN stays NaN.
  void (*max_relu)(const PoolShape&, const void* x, void* y);
  // dx: each dy goes to the first element of its window, row by row, that equals y. Where none does
  // it goes nowhere. Contributions of overlapping windows are added in the order of the windows.
  void (*max_grad)(const PoolShape&, const void* x, const void* y, const void* dy, void* dx);
  // y = the mean of what each window covers of the image.
  void (*average)(const PoolShape&, const void* x, void* y);
  void (*average_grad)(const PoolShape&, const void* dy, void* dx);
};

[[nodiscard]] PoolKernels FindPool(DType dtype);

}  // namespace tpuest
