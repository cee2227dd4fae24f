#include "data/images/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/kernels/resample.h"
#include "core/kernels/resize.h"

namespace tpuest::data {
namespace {

// The random words of an attempt; their number does not depend on the result.
struct Attempt {
  float ratio;
  uint32_t height;
  uint32_t y;
  uint32_t x;
};

int64_t Part(uint32_t word, int64_t count) {
  return static_cast<int64_t>(uint64_t{word} * static_cast<uint64_t>(count) >> 32U);
}

int64_t Rounded(float value) { return std::lrint(value); }

// One attempt of TensorFlow's GenerateRandomCrop; returns false if the crop is out of bounds.
bool TryCrop(const DistortedBox& box, int64_t height, int64_t width, const Attempt& attempt,
             CropWindow& crop) {
  const float ratio = attempt.ratio;
  const auto whole = static_cast<float>(width) * static_cast<float>(height);
  const float least = static_cast<float>(box.area_range[0]) * whole;
  const float most = static_cast<float>(box.area_range[1]) * whole;
  int64_t tall = Rounded(std::sqrt(least / ratio));
  int64_t tallest = Rounded(std::sqrt(most / ratio));
  const auto wide = [ratio](int64_t h) { return Rounded(static_cast<float>(h) * ratio); };
  if (wide(tallest) > width) {
    tallest = static_cast<int64_t>((static_cast<double>(width) + 0.5 - 1e-7) / ratio);
    if (wide(tallest) > width) --tallest;
  }
  tallest = std::min(tallest, height);
  tall = std::min(tall, tallest);
  if (tall < tallest) tall += Part(attempt.height, tallest - tall + 1);
  // A rounding error must not make a crop fail.
  const auto area = [&] { return static_cast<float>(tall * wide(tall)); };
  if (area() < least) ++tall;
  if (area() > most) --tall;
  crop.height = tall;
  crop.width = wide(tall);
  if (area() < least || area() > most || crop.width > width || tall > height || crop.width <= 0 ||
      tall <= 0) {
    return false;
  }
  // As in TensorFlow, the last possible position is never drawn.
  crop.y = tall < height ? Part(attempt.y, height - tall) : 0;
  crop.x = crop.width < width ? Part(attempt.x, width - crop.width) : 0;
  return area() >= static_cast<float>(box.min_object_covered) * whole;
}

// The kernel of a resampling method; nullopt for methods that have their own implementation.
std::optional<ResampleKernel> KernelOf(const Resizing& how) {
  if (how.method == "lanczos3") return ResampleKernel::kLanczos3;
  if (how.method == "lanczos5") return ResampleKernel::kLanczos5;
  if (how.method == "gaussian") return ResampleKernel::kGaussian;
  if (how.method == "mitchellcubic") return ResampleKernel::kMitchellCubic;
  if (how.antialias && how.method == "bilinear") return ResampleKernel::kTriangle;
  if (how.antialias && how.method == "bicubic") return ResampleKernel::kKeysCubic;
  return std::nullopt;
}

void ResampleTo(int64_t height, int64_t width, ResampleKernel kernel, bool antialias,
                Picture& picture, PictureScratch& scratch) {
  const Resample resample({.kernel = kernel,
                           .antialias = antialias,
                           .in_height = picture.height,
                           .in_width = picture.width,
                           .out_height = height,
                           .out_width = width,
                           .channels = picture.channels});
  scratch.other.Become(DType::kFloat, height, width, picture.channels);
  scratch.resize.resize(resample.scratch_bytes());
  Check(resample.Run(picture.dtype, picture.bytes.data(),
                     reinterpret_cast<float*>(scratch.other.bytes.data()),
                     reinterpret_cast<float*>(scratch.resize.data())));
  picture.Swap(scratch.other);
}

}  // namespace

CropWindow SampleDistortedBox(const DistortedBox& box, int64_t height, int64_t width,
                              Draws& draws) {
  const auto low = static_cast<float>(box.aspect_ratio_range[0]);
  const auto high = static_cast<float>(box.aspect_ratio_range[1]);
  for (int i = 0; i < box.max_attempts; ++i) {
    const float u = draws.Uniform();
    Attempt attempt{u * (high - low) + low, 0, 0, 0};
    attempt.height = draws.Word();
    attempt.y = draws.Word();
    attempt.x = draws.Word();
    CropWindow crop;
    if (TryCrop(box, height, width, attempt, crop)) return crop;
  }
  return {0, 0, height, width};
}

CropWindow EvaluationCrop(int64_t image_size, int64_t crop_padding, int64_t height, int64_t width) {
  const float part = static_cast<float>(static_cast<double>(image_size) /
                                        static_cast<double>(image_size + crop_padding));
  const auto shorter = static_cast<float>(std::min(height, width));
  const int64_t side = std::max<int64_t>(static_cast<int64_t>(part * shorter), 1);
  return {(height - side + 1) / 2, (width - side + 1) / 2, side, side};
}

std::pair<int64_t, int64_t> CentralPart(int64_t size, double fraction) {
  const auto whole = static_cast<double>(size);
  const auto begin = static_cast<int64_t>((whole - whole * fraction) / 2);
  return {begin, size - 2 * begin};
}

CropWindow AspectCrop(int64_t height, int64_t width, int64_t to_height, int64_t to_width) {
  const auto scaled = [](int64_t side, int64_t to, int64_t other) {
    return static_cast<int64_t>(static_cast<float>(side * to) / static_cast<float>(other));
  };
  const int64_t tall = std::min(height, scaled(width, to_height, to_width));
  const int64_t wide = std::min(width, scaled(height, to_width, to_height));
  return {(height - tall) / 2, (width - wide) / 2, std::max<int64_t>(tall, 1),
          std::max<int64_t>(wide, 1)};
}

void Crop(const CropWindow& window, Picture& picture) {
  Check(window.y >= 0 && window.x >= 0 && window.y + window.height <= picture.height &&
        window.x + window.width <= picture.width);
  if (window.height == picture.height && window.width == picture.width) return;
  const size_t pixel = picture.pixel_bytes();
  const size_t from_row = static_cast<size_t>(picture.width) * pixel;
  const size_t row = static_cast<size_t>(window.width) * pixel;
  const uint8_t* from = picture.bytes.data() + static_cast<size_t>(window.y) * from_row +
                        static_cast<size_t>(window.x) * pixel;
  uint8_t* to = picture.bytes.data();
  // Moves rows towards the front, so a row is read before it is overwritten.
  for (int64_t y = 0; y < window.height; ++y, from += from_row, to += row) {
    std::memmove(to, from, row);
  }
  picture.Become(picture.dtype, window.height, window.width, picture.channels);
}

void PadTo(int64_t height, int64_t width, int64_t y, int64_t x, Picture& picture,
           PictureScratch& scratch) {
  if (height == picture.height && width == picture.width) return;
  Picture& padded = scratch.other;
  padded.Become(picture.dtype, height, width, picture.channels);
  std::fill(padded.bytes.begin(), padded.bytes.end(), uint8_t{0});
  const size_t pixel = picture.pixel_bytes();
  const size_t row = static_cast<size_t>(picture.width) * pixel;
  for (int64_t i = 0; i < picture.height; ++i) {
    const auto to = static_cast<size_t>((y + i) * width + x) * pixel;
    std::memcpy(padded.bytes.data() + to, picture.bytes.data() + static_cast<size_t>(i) * row, row);
  }
  picture.Swap(padded);
}

void ResizeTo(int64_t height, int64_t width, const Resizing& how, Picture& picture,
              PictureScratch& scratch) {
  if (const auto kernel = KernelOf(how)) {
    return ResampleTo(height, width, *kernel, how.antialias, picture, scratch);
  }
  ResizeShape shape;
  shape.method = how.method == "nearest"   ? ResizeMethod::kNearest
                 : how.method == "bicubic" ? ResizeMethod::kBicubic
                 : how.method == "area"    ? ResizeMethod::kArea
                                           : ResizeMethod::kBilinear;
  shape.grid = how.half_pixel_centers && shape.method != ResizeMethod::kArea
                   ? ResizeGrid::kHalfPixel
                   : ResizeGrid::kLegacy;
  shape.in_height = picture.height;
  shape.in_width = picture.width;
  shape.out_height = height;
  shape.out_width = width;
  shape.channels = picture.channels;
  const Resize resize(shape);
  const bool keeps = shape.method == ResizeMethod::kNearest;
  scratch.other.Become(keeps ? picture.dtype : DType::kFloat, height, width, picture.channels);
  scratch.resize.resize(resize.scratch_bytes());
  Check(resize.Run(picture.dtype, picture.bytes.data(), scratch.other.bytes.data(),
                   scratch.resize.data()));
  picture.Swap(scratch.other);
}

}  // namespace tpuest::data
