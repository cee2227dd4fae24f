#pragma once
// Resizes and transforms images [N, H, W, C] (tf.image).

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// The mapping from pixels of the result to the image: tf.image.resize uses half_pixel_centers,
// TensorFlow 1 neither option.
struct ResizeOptions {
  bool align_corners = false;
  bool half_pixel_centers = true;
};

// x -> [N, height, width, C], float32; nearest neighbor keeps the dtype.
Value ResizeNearestNeighbor(Value x, int64_t height, int64_t width,
                            const ResizeOptions& options = {}, std::string_view name = "");
Value ResizeBilinear(Value x, int64_t height, int64_t width, const ResizeOptions& options = {},
                     std::string_view name = "");
Value ResizeBicubic(Value x, int64_t height, int64_t width, const ResizeOptions& options = {},
                    std::string_view name = "");
// Averages the area of the image that a pixel of the result covers.
Value ResizeArea(Value x, int64_t height, int64_t width, std::string_view name = "");

struct ProjectiveOptions {
  std::string interpolation = "BILINEAR";  // or NEAREST
  std::string fill_mode = "REFLECT";       // or WRAP, CONSTANT, NEAREST
  double fill_value = 0;
};

// The result at (x, y) is the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), where k =
// c0 x + c1 y + 1. transforms float32 [N or 1, 8]: a0, a1, a2, b0, b1, b2, c0, c1, which get no
// gradient.
Value ImageProjectiveTransformV3(Value images, Value transforms, int64_t height, int64_t width,
                                 const ProjectiveOptions& options = {}, std::string_view name = "");

OpFamily ImageOps();

}  // namespace tpuest::ops
