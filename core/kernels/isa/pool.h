#pragma once
// Pooling over windows of images [N, H, W, C]: bfloat16, float, double.

#include <cstdint>

#include "core/kernels/isa/conv_shape.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// The dilation is 1 on both axes; every window covers at least one pixel of the image.
struct PoolShape {
  int64_t batch = 0;
  WindowAxis height;
  WindowAxis width;
  int64_t channels = 0;
};

struct PoolKernels {
  // y = the largest value of each window; NaN if the window has one.
  void (*max)(const PoolShape&, const void* x, void* y);
  // max, then max(y, 0); NaN stays NaN.
  void (*max_relu)(const PoolShape&, const void* x, void* y);
  // dx: adds each dy to the first element of its window, row by row, that equals y; drops dy if
  // there is none. Overlapping windows add in the order of the windows.
  void (*max_grad)(const PoolShape&, const void* x, const void* y, const void* dy, void* dx);
  // y = the mean of the pixels of the image that a window covers.
  void (*average)(const PoolShape&, const void* x, void* y);
  void (*average_grad)(const PoolShape&, const void* dy, void* dx);
};

[[nodiscard]] PoolKernels FindPool(DType dtype);

}  // namespace tpuest
