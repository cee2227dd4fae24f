#pragma once
// An image between the map ops of a record: first its file's bytes, then its pixels.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/images/image.h"
#include "core/tensor/dtype.h"

namespace tpuest::data {

struct Picture {
  std::string_view file;        // until it is decoded
  DType dtype = DType::kUint8;  // of the pixels: kUint8 or kFloat, but for casts at the end
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<uint8_t> bytes;  // the pixels, row-major

  [[nodiscard]] int64_t values() const { return height * width * channels; }
  [[nodiscard]] size_t pixel_bytes() const { return static_cast<size_t>(channels) * SizeOf(dtype); }
  template <class T>
  [[nodiscard]] T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  [[nodiscard]] const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  // Changes type and shape; the pixels are unspecified.
  void Become(DType new_dtype, int64_t new_height, int64_t new_width, int64_t new_channels) {
    dtype = new_dtype;
    height = new_height;
    width = new_width;
    channels = new_channels;
    bytes.resize(static_cast<size_t>(values()) * SizeOf(dtype));
  }
  void Swap(Picture& other) {
    std::swap(dtype, other.dtype);
    std::swap(height, other.height);
    std::swap(width, other.width);
    std::swap(channels, other.channels);
    bytes.swap(other.bytes);
  }
};

// A worker's memory between its pictures.
struct PictureScratch {
  DecodedImage decoded;
  Picture other;
  std::vector<std::byte> resize;
};

}  // namespace tpuest::data
