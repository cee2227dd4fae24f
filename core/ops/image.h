#pragma once
// Images [N, H, W, C] in other sizes and other places (tf.image).

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// Where a result looks at the image: tf.image.resize has half_pixel_centers, TensorFlow 1 neither.
struct ResizeOptions {
  bool align_corners = false;
  bool half_pixel_centers = true;
};

// x -> [N, height, width, C], float32 but for the nearest pixel, which keeps the dtype.
Value ResizeNearestNeighbor(Value x, int64_t height, int64_t width,
                            const ResizeOptions& options = {}, std::string_view name = "");
Value ResizeBilinear(Value x, int64_t height, int64_t width, const ResizeOptions& options = {},
                     std::string_view name = "");
Value ResizeBicubic(Value x, int64_t height, int64_t width, const ResizeOptions& options = {},
                    std::string_view name = "");
// The mean of what a result covers of the image.
Value ResizeArea(Value x, int64_t height, int64_t width, std::string_view name = "");

struct ProjectiveOptions {
  std::string interpolation = "BILINEAR";  // NEAREST
  std::string fill_mode = "REFLECT";       // WRAP, CONSTANT, NEAREST
  double fill_value = 0;
};

// y at (x, y) is the image at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y
// + 1. transforms float32 [N or 1, 8]: a0, a1, a2, b0, b1, b2, c0, c1, which get no gradient.
Value ImageProjectiveTransformV3(Value images, Value transforms, int64_t height, int64_t width,
                                 const ProjectiveOptions& options = {}, std::string_view name = "");

OpFamily ImageOps();

}  // namespace tpuest::ops
