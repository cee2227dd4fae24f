#include <algorithm>
#include <cmath>

#include "core/estimator/step/media_summaries.h"
#include "core/io/images/image.h"

namespace tpuest {
namespace {

constexpr float kNoRange = 1e-6F;  // pixels below it are all 0

// TensorFlow's NormalizeFloatImage.
void Stretch(const float* from, DecodedImage& image) {
  const size_t count = image.pixels.size();
  float least = std::numeric_limits<float>::infinity();
  float most = -least;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(from[i])) continue;
    least = std::min(least, from[i]);
    most = std::max(most, from[i]);
  }
  const bool is_signed = least < 0;
  const float reach = is_signed ? std::max(std::abs(least), std::abs(most)) : most;
  const float scale = reach < kNoRange ? 0 : (is_signed ? 127.0F : 255.0F) / reach;
  const float offset = is_signed ? 128.0F : 0.0F;
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t pixel = 0; pixel < count; pixel += channels) {
    const bool is_finite = std::all_of(from + pixel, from + pixel + channels,
                                       [](float value) { return std::isfinite(value); });
    for (size_t c = 0; c < channels; ++c) {
      constexpr uint8_t kRed[] = {255, 0, 0, 255};
      image.pixels[pixel + c] =
          is_finite ? static_cast<uint8_t>(from[pixel + c] * scale + offset) : kRed[c];
    }
  }
}

}  // namespace

std::vector<SummaryValue> ImageSummaries(const std::string& tag, const Tensor& images,
                                         int64_t most) {
  const bool as_bytes = images.dtype() == DType::kUint8;
  const Tensor real = as_bytes ? images : images.Cast(DType::kFloat);
  const Shape& shape = images.shape();
  std::vector<SummaryValue> summaries;
  DecodedImage image;
  image.Resize(shape.dim(1), shape.dim(2), shape.dim(3));
  const auto size = static_cast<int64_t>(image.pixels.size());
  for (int64_t i = 0; i < std::min(most, shape.dim(0)); ++i) {
    if (as_bytes) {
      std::copy_n(images.data<uint8_t>() + i * size, size, image.pixels.begin());
    } else {
      Stretch(real.data<float>() + i * size, image);
    }
    summaries.push_back({.tag = most == 1 ? tag + "/image" : fmt::format("{}/image/{}", tag, i),
                         .value = ImageData{.height = static_cast<int>(image.height),
                                            .width = static_cast<int>(image.width),
                                            .channels = static_cast<int>(image.channels),
                                            .encoded = EncodePng(image)}});
  }
  return summaries;
}

}  // namespace tpuest
