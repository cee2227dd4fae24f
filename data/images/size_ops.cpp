// Map ops that decode images or change their size.

#include <algorithm>
#include <cmath>

#include "data/images/checks.h"
#include "data/images/geometry.h"

namespace tpuest::data {
namespace {

constexpr int64_t kAny = kUnknownDim;

void Take(DecodedImage& decoded, Picture& picture) {
  picture.bytes.swap(decoded.pixels);
  picture.dtype = DType::kUint8;
  picture.height = decoded.height;
  picture.width = decoded.width;
  picture.channels = decoded.channels;
}

int64_t ChannelsOrAny(int channels) { return channels == 0 ? kAny : channels; }

bool IsWhole(const CropWindow& window, const ImageHeader& header) {
  return window.height == header.height && window.width == header.width;
}

// The size of a side after `change`, if it is known.
template <class Change>
int64_t Changed(int64_t side, Change change) {
  return side == kAny ? kAny : change(side);
}

// TensorFlow 1's resize has the four oldest methods, and no antialias.
void CheckHalfPixels(const ResizeMap& o) {
  if (o.half_pixel_centers) return;
  const bool is_old = o.method == "bilinear" || o.method == "nearest" || o.method == "bicubic" ||
                      o.method == "area";
  if (is_old && !o.antialias) return;
  throw Error(Code::kUsage,
              fmt::format("half_pixel_centers: false selects TensorFlow 1's resize, which lacks {}",
                          is_old ? "antialias" : o.method),
              "leave half_pixel_centers out");
}

}  // namespace

ImageColumn ResolveImageOp(const DecodeImageMap& o, const TensorSpec& spec, uint64_t /*name*/) {
  CheckFile(spec);
  CheckDecodedChannels(o.channels);
  return ImageOf(spec, DType::kUint8, kAny, kAny, ChannelsOrAny(o.channels),
                 [channels = o.channels](Picture& picture, const RecordKey&, PictureScratch& s) {
                   DecodeImage(picture.file, channels, s.decoded);
                   Take(s.decoded, picture);
                 });
}

ImageColumn ResolveImageOp(const DecodeCenterCropMap& o, const TensorSpec& spec,
                           uint64_t /*name*/) {
  CheckFile(spec);
  CheckDecodedChannels(o.channels);
  CheckEvaluationCrop(o.image_size, o.crop_padding);
  return ImageOf(spec, DType::kUint8, kAny, kAny, ChannelsOrAny(o.channels),
                 [o](Picture& picture, const RecordKey&, PictureScratch& s) {
                   const ImageHeader header = ReadImageHeader(picture.file);
                   DecodeAndCrop(
                       picture.file, o.channels,
                       EvaluationCrop(o.image_size, o.crop_padding, header.height, header.width),
                       s.decoded);
                   Take(s.decoded, picture);
                 });
}

ImageColumn ResolveImageOp(const DecodeRandomCropMap& o, const TensorSpec& spec, uint64_t name) {
  CheckFile(spec);
  CheckDecodedChannels(o.channels);
  CheckBox(o);
  CheckEvaluationCrop(o.image_size, o.crop_padding);
  return ImageOf(spec, DType::kUint8, kAny, kAny, ChannelsOrAny(o.channels),
                 [o, name](Picture& picture, const RecordKey& record, PictureScratch& s) {
                   const ImageHeader header = ReadImageHeader(picture.file);
                   Draws draws = DrawsOf(o, record, name);
                   CropWindow window = SampleDistortedBox(o, header.height, header.width, draws);
                   if (IsWhole(window, header)) {
                     window =
                         EvaluationCrop(o.image_size, o.crop_padding, header.height, header.width);
                   }
                   DecodeAndCrop(picture.file, o.channels, window, s.decoded);
                   Take(s.decoded, picture);
                 });
}

ImageColumn ResolveImageOp(const ResizeMap& o, const TensorSpec& spec, uint64_t /*name*/) {
  CheckPicture(spec);
  const auto [height, width] = CheckedSize(o.size);
  CheckHalfPixels(o);
  const DType dtype = o.method == "nearest" ? spec.dtype : DType::kFloat;
  return ImageOf(
      spec, dtype, height, width, spec.shape.dim(2),
      [height = height, width = width, o](Picture& picture, const RecordKey&, PictureScratch& s) {
        ResizeTo(height, width, {o.method, o.antialias, o.half_pixel_centers}, picture, s);
      });
}

ImageColumn ResolveImageOp(const CentralCropMap& o, const TensorSpec& spec, uint64_t /*name*/) {
  CheckPicture(spec);
  const double fraction = o.central_fraction;
  if (!(fraction > 0 && fraction <= 1)) {
    throw Error(Code::kUsage,
                fmt::format("central_fraction is {}; expected above 0, at most 1", fraction));
  }
  const auto part = [fraction](int64_t side) { return CentralPart(side, fraction).second; };
  return ImageOf(spec, spec.dtype, Changed(spec.shape.dim(0), part),
                 Changed(spec.shape.dim(1), part), spec.shape.dim(2),
                 [fraction](Picture& picture, const RecordKey&, PictureScratch&) {
                   const auto [y, height] = CentralPart(picture.height, fraction);
                   const auto [x, width] = CentralPart(picture.width, fraction);
                   Crop({y, x, height, width}, picture);
                 });
}

ImageColumn ResolveImageOp(const RandomCropMap& o, const TensorSpec& spec, uint64_t name) {
  CheckPicture(spec);
  std::vector<int64_t> size = o.size;
  if (size.size() == 3 && size[2] == spec.shape.dim(2)) size.pop_back();
  const auto [height, width] = CheckedSize(size);
  if ((spec.shape.dim(0) != kAny && spec.shape.dim(0) < height) ||
      (spec.shape.dim(1) != kAny && spec.shape.dim(1) < width)) {
    throw Error(Code::kUsage,
                fmt::format("a crop of {}x{} is larger than the image", height, width),
                "put a resize or a resize_with_crop_or_pad before it");
  }
  return ImageOf(spec, spec.dtype, height, width, spec.shape.dim(2),
                 [height = height, width = width, o, name](
                     Picture& picture, const RecordKey& record, PictureScratch&) {
                   if (picture.height < height || picture.width < width) {
                     throw Error(Code::kData,
                                 fmt::format("random_crop of {}x{} from an image of {}x{}", height,
                                             width, picture.height, picture.width),
                                 "put a resize or a resize_with_crop_or_pad before it");
                   }
                   Draws draws = DrawsOf(o, record, name);
                   const int64_t y = draws.Below(picture.height - height + 1);
                   const int64_t x = draws.Below(picture.width - width + 1);
                   Crop({y, x, height, width}, picture);
                 });
}

ImageColumn ResolveImageOp(const DistortedBoxMap& o, const TensorSpec& spec, uint64_t name) {
  CheckPicture(spec);
  CheckBox(o);
  return ImageOf(spec, spec.dtype, kAny, kAny, spec.shape.dim(2),
                 [o, name](Picture& picture, const RecordKey& record, PictureScratch&) {
                   Draws draws = DrawsOf(o, record, name);
                   Crop(SampleDistortedBox(o, picture.height, picture.width, draws), picture);
                 });
}

ImageColumn ResolveImageOp(const CropOrPadMap& o, const TensorSpec& spec, uint64_t /*name*/) {
  CheckPicture(spec);
  CheckSide("target_height", o.target_height);
  CheckSide("target_width", o.target_width);
  return ImageOf(spec, spec.dtype, o.target_height, o.target_width, spec.shape.dim(2),
                 [height = o.target_height, width = o.target_width](
                     Picture& picture, const RecordKey&, PictureScratch& s) {
                   // Halves both differences rounding down, as Python does.
                   const int64_t tall = std::min(height, picture.height);
                   const int64_t wide = std::min(width, picture.width);
                   const int64_t y = std::max<int64_t>(picture.height - height, 0) / 2;
                   const int64_t x = std::max<int64_t>(picture.width - width, 0) / 2;
                   Crop({y, x, tall, wide}, picture);
                   PadTo(height, width, (height - tall) / 2, (width - wide) / 2, picture, s);
                 });
}

ImageColumn ResolveImageOp(const ResizeWithPadMap& o, const TensorSpec& spec, uint64_t /*name*/) {
  CheckPicture(spec);
  CheckSide("target_height", o.target_height);
  CheckSide("target_width", o.target_width);
  const DType dtype = o.method == "nearest" ? spec.dtype : DType::kFloat;
  return ImageOf(spec, dtype, o.target_height, o.target_width, spec.shape.dim(2),
                 [o](Picture& picture, const RecordKey&, PictureScratch& s) {
                   const auto to_height = static_cast<float>(o.target_height);
                   const auto to_width = static_cast<float>(o.target_width);
                   const auto height = static_cast<float>(picture.height);
                   const auto width = static_cast<float>(picture.width);
                   const float ratio = std::max(width / to_width, height / to_height);
                   const float tall = height / ratio;
                   const float wide = width / ratio;
                   const auto whole = [](float side) {
                     return std::max<int64_t>(static_cast<int64_t>(std::floor(side)), 1);
                   };
                   const auto room = [](float to, float side) {
                     return std::max<int64_t>(static_cast<int64_t>(std::floor((to - side) / 2)), 0);
                   };
                   ResizeTo(whole(tall), whole(wide), {o.method, o.antialias}, picture, s);
                   PadTo(o.target_height, o.target_width, room(to_height, tall),
                         room(to_width, wide), picture, s);
                 });
}

}  // namespace tpuest::data
