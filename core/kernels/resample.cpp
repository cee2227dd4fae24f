#include "core/kernels/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tpuest {
namespace {

float RadiusOf(ResampleKernel kernel) {
  switch (kernel) {
    case ResampleKernel::kTriangle:
      return 1.0F;
    case ResampleKernel::kKeysCubic:
    case ResampleKernel::kMitchellCubic:
      return 2.0F;
    case ResampleKernel::kLanczos3:
      return 3.0F;
    case ResampleKernel::kLanczos5:
      return 5.0F;
    case ResampleKernel::kGaussian:
      return 1.5F;
  }
  return 1.0F;
}

// sinc(x) sinc(x / radius), which is 1 at 0.
float Lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359F;
  if (x > radius) return 0.0F;
  if (x <= 1e-3F) return 1.0F;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

// The radius is three standard deviations.
float Gaussian(float x, float radius) {
  if (x >= radius) return 0.0F;
  const float sigma = radius / 3.0F;
  return static_cast<float>(
      std::exp(static_cast<double>(-x * x) /
               (2.0 * static_cast<double>(sigma) * static_cast<double>(sigma))));
}

// Keys' kernel with A = -0.5.
float KeysCubic(float x) {
  if (x >= 2.0F) return 0.0F;
  if (x >= 1.0F) return ((-0.5F * x + 2.5F) * x - 4.0F) * x + 2.0F;
  return ((1.5F * x - 2.5F) * x) * x + 1.0F;
}

// Mitchell and Netravali's kernel with B = C = 1/3.
float MitchellCubic(float x) {
  if (x >= 2.0F) return 0.0F;
  if (x >= 1.0F) {
    return (((-7.0F / 18.0F) * x + 2.0F) * x - 10.0F / 3.0F) * x + 16.0F / 9.0F;
  }
  return (((7.0F / 6.0F) * x - 2.0F) * x) * x + 8.0F / 9.0F;
}

// The value of the kernel at a distance x >= 0 from its middle.
float WeightAt(ResampleKernel kernel, float x) {
  switch (kernel) {
    case ResampleKernel::kTriangle:
      return x < 1.0F ? 1.0F - x : 0.0F;
    case ResampleKernel::kKeysCubic:
      return KeysCubic(x);
    case ResampleKernel::kMitchellCubic:
      return MitchellCubic(x);
    case ResampleKernel::kLanczos3:
    case ResampleKernel::kLanczos5:
      return Lanczos(x, RadiusOf(kernel));
    case ResampleKernel::kGaussian:
      return Gaussian(x, RadiusOf(kernel));
  }
  return 0.0F;
}

}  // namespace

Resample::Resample(const ResampleShape& shape)
    : shape_(shape),
      rows_(SpansOf(shape.in_height, shape.out_height)),
      columns_(SpansOf(shape.in_width, shape.out_width)) {}

std::vector<float> Resample::RowWeights() const {
  std::vector<float> weights(static_cast<size_t>(shape_.out_height * shape_.in_height), 0.0F);
  for (size_t row = 0; row < rows_.size(); ++row) {
    const Span& span = rows_[row];
    const auto first = static_cast<int64_t>(row) * shape_.in_height + span.begin;
    std::copy(span.weights.begin(), span.weights.end(), weights.begin() + first);
  }
  return weights;
}

size_t Resample::scratch_bytes() const {
  return static_cast<size_t>(shape_.out_height * shape_.in_width * shape_.channels) * sizeof(float);
}

// The weights of a result add up to 1, even if a part of the kernel lies outside the image. Rounds
// as TensorFlow does: the scale is out / in as a float, and its inverse is used.
std::vector<Resample::Span> Resample::SpansOf(int64_t in, int64_t out) const {
  const float scale = static_cast<float>(out) / static_cast<float>(in);
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(scale));
  const float stretch = shape_.antialias ? std::max(inverse, 1.0F) : 1.0F;
  const float one_over_stretch = 1.0F / stretch;
  const float reach = RadiusOf(shape_.kernel) * stretch;
  std::vector<Span> spans(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    Span& span = spans[static_cast<size_t>(i)];
    const float middle = (static_cast<float>(i) + 0.5F) * inverse;
    if (middle < 0 || middle > static_cast<float>(in)) continue;
    const auto last_pixel = in - 1;
    const auto begin = static_cast<int64_t>(std::ceil(middle - reach - 0.5F));
    const auto end = static_cast<int64_t>(std::floor(middle + reach - 0.5F));
    span.begin = std::clamp<int64_t>(begin, 0, last_pixel);
    const int64_t behind = std::clamp<int64_t>(end, 0, last_pixel) + 1;
    float sum = 0;
    for (int64_t pixel = span.begin; pixel < behind; ++pixel) {
      const float apart = static_cast<float>(pixel) + 0.5F - middle;
      span.weights.push_back(WeightAt(shape_.kernel, std::abs(apart * one_over_stretch)));
      sum += span.weights.back();
    }
    const bool is_nothing = std::abs(sum) < 1000.0F * std::numeric_limits<float>::min();
    const float factor = is_nothing ? 0.0F : 1.0F / sum;
    for (float& weight : span.weights) weight *= factor;
  }
  return spans;
}

bool Resample::Run(DType dtype, const void* image, float* resized, float* scratch) const {
  if (dtype == DType::kUint8) {
    Rows(static_cast<const uint8_t*>(image), scratch);
  } else if (dtype == DType::kFloat) {
    Rows(static_cast<const float*>(image), scratch);
  } else {
    return false;
  }
  Columns(scratch, resized);
  return true;
}

template <class T>
void Resample::Rows(const T* image, float* rows) const {
  const int64_t width = shape_.in_width * shape_.channels;
  for (const Span& span : rows_) {
    std::fill(rows, rows + width, 0.0F);
    const T* row = image + span.begin * width;
    for (const float weight : span.weights) {
      for (int64_t i = 0; i < width; ++i) rows[i] += weight * static_cast<float>(row[i]);
      row += width;
    }
    rows += width;
  }
}

void Resample::Columns(const float* rows, float* resized) const {
  const int64_t channels = shape_.channels;
  for (int64_t y = 0; y < shape_.out_height; ++y) {
    for (const Span& span : columns_) {
      std::fill(resized, resized + channels, 0.0F);
      const float* pixel = rows + span.begin * channels;
      for (const float weight : span.weights) {
        for (int64_t c = 0; c < channels; ++c) resized[c] += weight * pixel[c];
        pixel += channels;
      }
      resized += channels;
    }
    rows += shape_.in_width * channels;
  }
}

}  // namespace tpuest
