#pragma once
// Depthwise convolution of images [N, H, W, C] of bfloat16 or float with one filter per channel,
// [kh, kw, C] in float: shape.depthwise, and as many filters as channels. Sums are float; sums over
// a whole image are double.

#include "core/kernels/isa/conv_shape.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// The largest window size along each axis.
inline constexpr int64_t kMaxDepthwiseSize = 7;

struct DepthwiseKernels {
  void (*forward)(const ConvShape&, const void* x, const float* filter, void* y);
  void (*backward_data)(const ConvShape&, const void* dy, const float* filter, void* dx);
  // `totals` is scratch memory: one double per number of the filter.
  void (*backward_filter)(const ConvShape&, const void* x, const void* dy, float* dfilter,
                          double* totals);
};

// Check fails for a dtype other than bfloat16 and float.
[[nodiscard]] DepthwiseKernels FindDepthwise(DType dtype);

// True if these kernels support this convolution.
[[nodiscard]] inline bool HasDepthwiseKernel(const ConvShape& shape) {
  return shape.depthwise && shape.filters == shape.channels &&
         shape.height.size <= kMaxDepthwiseSize && shape.width.size <= kMaxDepthwiseSize;
}

}  // namespace tpuest
