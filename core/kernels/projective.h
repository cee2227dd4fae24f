#pragma once
// Rotates, shifts and stretches images [height, width, channels], as TensorFlow's
// ImageProjectiveTransformV3 does.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

// The pixels beyond the edges of the image abcd: reflect dcba|abcd|dcba, wrap abcd|abcd|abcd,
// nearest aaaa|abcd|dddd, constant a value.
enum class FillMode { kReflect, kWrap, kConstant, kNearest };

struct ProjectiveShape {
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 0;
  FillMode fill_mode = FillMode::kReflect;
  bool bilinear = true;  // false: the nearest pixel
};

// y at (x, y) is the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y +
// 1; transform = a0, a1, a2, b0, b1, b2, c0, c1.
using ProjectiveKernel = void (*)(const ProjectiveShape&, const float* transform, float fill_value,
                                  const void* image, void* y);
// The derivative with respect to the image: adds each dy to the pixels from which its y was
// computed.
using ProjectiveGradKernel = void (*)(const ProjectiveShape&, const float* transform,
                                      const void* dy, void* dx);

// Returns nullptr if there is no kernel for this dtype: FindProjective takes all numbers, its
// gradient floating types.
[[nodiscard]] ProjectiveKernel FindProjective(DType dtype);
[[nodiscard]] ProjectiveGradKernel FindProjectiveGrad(DType dtype);

}  // namespace tpuest
