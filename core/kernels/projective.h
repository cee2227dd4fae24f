#pragma once
// Images [height, width, channels] turned, moved and stretched, as TensorFlow's
// ImageProjectiveTransformV3 does it.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

// What stands beside the image abcd: reflect dcba|abcd|dcba, wrap abcd|abcd|abcd, nearest
// aaaa|abcd|dddd, constant a value.
enum class FillMode { kReflect, kWrap, kConstant, kNearest };

struct ProjectiveShape {
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 0;
  FillMode fill_mode = FillMode::kReflect;
  bool bilinear = true;  // else the nearest pixel
};

// y at (x, y) is the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y +
// 1; transform = a0, a1, a2, b0, b1, b2, c0, c1.
using ProjectiveKernel = void (*)(const ProjectiveShape&, const float* transform, float fill_value,
                                  const void* image, void* y);
// The derivative by the image: each dy goes to the pixels that its y was made of.
using ProjectiveGradKernel = void (*)(const ProjectiveShape&, const float* transform,
                                      const void* dy, void* dx);

// nullptr unless there is a kernel for this dtype: numbers; the gradient's, floats.
[[nodiscard]] ProjectiveKernel FindProjective(DType dtype);
[[nodiscard]] ProjectiveGradKernel FindProjectiveGrad(DType dtype);

}  // namespace tpuest
