#pragma once
// Decodes image files within a graph, as a server receives them: a host op.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct DecodeImagesOptions {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;                    // 1 or 3
  std::string interpolation = "bilinear";  // as in tf.image.resize: also nearest, bicubic, area
};

// bytes string [N], one JPEG, PNG, BMP or GIF file each -> [N, height, width, channels]:
// decode_image and tf.image.resize of each, float32, or uint8 with nearest. Written as TensorFlow's
// MapDefun with the function of core/graph/write/map_function.h. A file that is not an image or is
// damaged is an Error kData with its index.
Value DecodeImages(Value bytes, const DecodeImagesOptions& options, std::string_view name = "");

OpFamily DecodeImageOps();

}  // namespace tpuest::ops
