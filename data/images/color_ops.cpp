// Map ops that mirror images or change their colours.

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/images/checks.h"

namespace tpuest::data {
namespace {

constexpr float kFromByte = static_cast<float>(1.0 / 255);
constexpr float kToByte = 255.5F;  // truncated after scaling: both 1 and a converted 255 give 255

void BytesToFloats(Picture& picture, PictureScratch& scratch, float scale) {
  Picture& floats = scratch.other;
  floats.Become(DType::kFloat, picture.height, picture.width, picture.channels);
  const auto* from = picture.data<uint8_t>();
  auto* to = floats.data<float>();
  for (int64_t i = 0; i < picture.values(); ++i) to[i] = static_cast<float>(from[i]) * scale;
  picture.Swap(floats);
}

void FloatsToBytes(Picture& picture, PictureScratch& scratch, bool saturate) {
  Picture& made = scratch.other;
  made.Become(DType::kUint8, picture.height, picture.width, picture.channels);
  const auto* from = picture.data<float>();
  auto* to = made.data<uint8_t>();
  for (int64_t i = 0; i < picture.values(); ++i) {
    const float scaled = from[i] * kToByte;
    // A number outside int64, or NaN, has no value as a byte.
    const float held = saturate                  ? std::clamp(scaled, 0.0F, 255.0F)
                       : std::abs(scaled) < 1e9F ? scaled
                                                 : 0.0F;
    to[i] = static_cast<uint8_t>(static_cast<int64_t>(held));
  }
  picture.Swap(made);
}

// Calls change(floats, picture) on the image as floats; bytes become 0..1 for the call.
template <class Change>
void InFloats(Picture& picture, PictureScratch& scratch, const Change& change) {
  const bool bytes = picture.dtype == DType::kUint8;
  if (bytes) BytesToFloats(picture, scratch, kFromByte);
  change(picture.data<float>(), picture);
  if (bytes) FloatsToBytes(picture, scratch, true);
}

ImageColumn Same(const TensorSpec& spec, CalledOp::Call call) {
  return {spec, std::make_shared<CalledOp>(std::move(call))};
}

void MirrorRow(uint8_t* row, int64_t width, size_t pixel) {
  uint8_t* left = row;
  uint8_t* right = row + static_cast<size_t>(width - 1) * pixel;
  for (; left < right; left += pixel, right -= pixel) std::swap_ranges(left, left + pixel, right);
}

void Contrast(float factor, float* x, const Picture& picture) {
  const int64_t channels = picture.channels;
  const int64_t pixels = picture.height * picture.width;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < pixels; ++i) sum += x[i * channels + c];
    const auto mean = static_cast<float>(sum / static_cast<double>(pixels));
    for (int64_t i = 0; i < pixels; ++i) {
      float& value = x[i * channels + c];
      value = (value - mean) * factor + mean;
    }
  }
}

// A colour as its hue (0 to below 6) and its smallest and largest component.
struct HueRange {
  float hue = 0;
  float least = 0;
  float most = 0;
};

HueRange HueOf(const float* rgb) {
  HueRange of;
  of.least = std::min({rgb[0], rgb[1], rgb[2]});
  of.most = std::max({rgb[0], rgb[1], rgb[2]});
  const float range = of.most - of.least;
  if (range <= 0) return of;
  if (of.most == rgb[0]) {
    of.hue = (rgb[1] - rgb[2]) / range;
    if (of.hue < 0) of.hue += 6;
  } else if (of.most == rgb[1]) {
    of.hue = 2 + (rgb[2] - rgb[0]) / range;
  } else {
    of.hue = 4 + (rgb[0] - rgb[1]) / range;
  }
  return of;
}

void SetHue(const HueRange& of, float* rgb) {
  // The channels with the largest, middle and smallest component in each sixth of the colour
  // circle.
  constexpr int kOrder[6][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 1, 0}, {2, 0, 1}, {0, 2, 1}};
  const int sixth = std::clamp(static_cast<int>(of.hue), 0, 5);
  const float within = of.hue - static_cast<float>(sixth);
  const float part = sixth % 2 == 0 ? within : 1 - within;
  rgb[kOrder[sixth][0]] = of.most;
  rgb[kOrder[sixth][1]] = of.least + part * (of.most - of.least);
  rgb[kOrder[sixth][2]] = of.least;
}

void CheckFactors(double lower, double upper) {
  if (lower >= 0 && lower < upper) return;
  throw Error(Code::kUsage,
              fmt::format("lower is {}, upper is {}; expected 0 <= lower < upper", lower, upper));
}

float Factor(double lower, double upper, Draws draws) {
  return draws.Between(static_cast<float>(lower), static_cast<float>(upper));
}

}  // namespace

ImageColumn ResolveImageOp(const FlipLeftRightMap& o, const TensorSpec& spec, uint64_t name) {
  CheckPicture(spec);
  return Same(spec, [o, name](Picture& picture, const RecordKey& record, PictureScratch&) {
    if (DrawsOf(o, record, name).Uniform() >= 0.5F) return;
    const size_t pixel = picture.pixel_bytes();
    const size_t row = static_cast<size_t>(picture.width) * pixel;
    for (int64_t y = 0; y < picture.height; ++y) {
      MirrorRow(picture.bytes.data() + static_cast<size_t>(y) * row, picture.width, pixel);
    }
  });
}

ImageColumn ResolveImageOp(const FlipUpDownMap& o, const TensorSpec& spec, uint64_t name) {
  CheckPicture(spec);
  return Same(spec, [o, name](Picture& picture, const RecordKey& record, PictureScratch&) {
    if (DrawsOf(o, record, name).Uniform() >= 0.5F) return;
    MirrorRow(picture.bytes.data(), picture.height,
              static_cast<size_t>(picture.width) * picture.pixel_bytes());
  });
}

ImageColumn ResolveImageOp(const StandardizationMap& /*o*/, const TensorSpec& spec,
                           uint64_t /*name*/) {
  CheckPicture(spec);
  ImageColumn column = Same(spec, [](Picture& picture, const RecordKey&, PictureScratch& s) {
    if (picture.dtype == DType::kUint8) BytesToFloats(picture, s, 1);
    auto* const x = picture.data<float>();
    const int64_t count = picture.values();
    const auto n = static_cast<double>(count);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += x[i];
    const auto mean = static_cast<float>(sum / n);
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double d = x[i] - mean;
      squares += d * d;
    }
    const double deviation = std::max(std::sqrt(squares / n), 1 / std::sqrt(n));
    for (int64_t i = 0; i < count; ++i) x[i] = (x[i] - mean) / static_cast<float>(deviation);
  });
  column.spec.dtype = DType::kFloat;
  return column;
}

ImageColumn ResolveImageOp(const RandomBrightnessMap& o, const TensorSpec& spec, uint64_t name) {
  CheckPicture(spec);
  if (!(o.max_delta >= 0)) throw Error(Code::kUsage, "max_delta must be non-negative.");
  return Same(spec, [o, name](Picture& picture, const RecordKey& record, PictureScratch& s) {
    const float delta = Factor(-o.max_delta, o.max_delta, DrawsOf(o, record, name));
    InFloats(picture, s, [delta](float* x, const Picture& p) {
      for (int64_t i = 0; i < p.values(); ++i) x[i] += delta;
    });
  });
}

ImageColumn ResolveImageOp(const RandomContrastMap& o, const TensorSpec& spec, uint64_t name) {
  CheckPicture(spec);
  CheckFactors(o.lower, o.upper);
  return Same(spec, [o, name](Picture& picture, const RecordKey& record, PictureScratch& s) {
    const float factor = Factor(o.lower, o.upper, DrawsOf(o, record, name));
    InFloats(picture, s, [factor](float* x, const Picture& p) { Contrast(factor, x, p); });
  });
}

ImageColumn ResolveImageOp(const RandomSaturationMap& o, const TensorSpec& spec, uint64_t name) {
  CheckColor(spec);
  CheckFactors(o.lower, o.upper);
  return Same(spec, [o, name](Picture& picture, const RecordKey& record, PictureScratch& s) {
    const float factor = Factor(o.lower, o.upper, DrawsOf(o, record, name));
    InFloats(picture, s, [factor](float* x, const Picture& p) {
      for (int64_t i = 0; i < p.values(); i += 3) {
        HueRange of = HueOf(x + i);
        const float saturation = of.most > 0 ? (of.most - of.least) / of.most : 0;
        of.least = of.most - std::clamp(saturation * factor, 0.0F, 1.0F) * of.most;
        SetHue(of, x + i);
      }
    });
  });
}

ImageColumn ResolveImageOp(const RandomHueMap& o, const TensorSpec& spec, uint64_t name) {
  CheckColor(spec);
  if (!(o.max_delta >= 0 && o.max_delta <= 0.5)) {
    throw Error(Code::kUsage, fmt::format("max_delta is {}; expected 0 to 0.5", o.max_delta));
  }
  return Same(spec, [o, name](Picture& picture, const RecordKey& record, PictureScratch& s) {
    const float turn = 6 * Factor(-o.max_delta, o.max_delta, DrawsOf(o, record, name));
    InFloats(picture, s, [turn](float* x, const Picture& p) {
      for (int64_t i = 0; i < p.values(); i += 3) {
        HueRange of = HueOf(x + i);
        of.hue += turn;
        if (of.hue < 0) of.hue += 6;
        if (of.hue >= 6) of.hue -= 6;
        SetHue(of, x + i);
      }
    });
  });
}

ImageColumn ResolveImageOp(const ConvertImageDtypeMap& o, const TensorSpec& spec,
                           uint64_t /*name*/) {
  CheckPicture(spec);
  const DType dtype = o.dtype == "uint8" ? DType::kUint8 : DType::kFloat;
  if (dtype == spec.dtype) return {spec, nullptr};
  ImageColumn column = Same(
      spec, [dtype, saturate = o.saturate](Picture& picture, const RecordKey&, PictureScratch& s) {
        if (dtype == DType::kFloat) return BytesToFloats(picture, s, kFromByte);
        FloatsToBytes(picture, s, saturate);
      });
  column.spec.dtype = dtype;
  return column;
}

}  // namespace tpuest::data
