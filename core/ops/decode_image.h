#pragma once
// Image files within a graph, as a server gets them: a host op.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct DecodeImagesOptions {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;                    // 1 or 3
  std::string interpolation = "bilinear";  // of tf.image.resize: nearest, bicubic, area
};

// bytes string [N], JPEG, PNG, BMP or GIF files each -> [N, height, width, channels]: decode_image
// and tf.image.resize of each, float32, uint8 of the nearest pixels. TensorFlow's MapDefun, whose
// function core/graph/write/map_function.h writes. A file that is none, or damaged, is an Error
// kData that says which.
Value DecodeImages(Value bytes, const DecodeImagesOptions& options, std::string_view name = "");

OpFamily DecodeImageOps();

}  // namespace tpuest::ops
