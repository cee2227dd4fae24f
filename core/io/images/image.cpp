#include "core/io/images/image.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/text.h"
#include "core/io/images/codecs.h"

namespace tpuest {
namespace {

constexpr std::array<std::string_view, 5> kEndings = {".bmp", ".gif", ".jpeg", ".jpg", ".png"};

[[noreturn]] void NoImage(std::string_view bytes) {
  if (bytes.empty()) throw Error(Code::kData, "the file is empty; expected an image");
  std::string first;
  for (const char byte : bytes.substr(0, 4)) {
    first += fmt::format("{}{:02x}", first.empty() ? "" : " ", static_cast<unsigned char>(byte));
  }
  throw Error(
      Code::kData,
      fmt::format("no image: its first bytes are {}; expected JPEG, PNG, BMP or GIF", first),
      "convert it, or leave it out");
}

ImageFormat FormatOf(std::string_view bytes) {
  const std::optional<ImageFormat> format = ImageFormatOf(bytes);
  if (!format) NoImage(bytes);
  return *format;
}

}  // namespace

std::string_view NameOf(ImageFormat format) {
  constexpr std::array<std::string_view, 4> kNames = {"JPEG", "PNG", "BMP", "GIF"};
  return kNames[static_cast<size_t>(format)];
}

std::optional<ImageFormat> ImageFormatOf(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (bytes.starts_with("GIF8")) return ImageFormat::kGif;
  if (bytes.starts_with("BM")) return ImageFormat::kBmp;
  return std::nullopt;
}

bool HasImageEnding(std::string_view path) {
  return std::ranges::any_of(kEndings, [path](std::string_view ending) {
    if (path.size() < ending.size()) return false;
    return std::ranges::equal(path.substr(path.size() - ending.size()), ending, [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
  });
}

Error DamagedImage(ImageFormat format, std::string_view what) {
  return {Code::kData, fmt::format("damaged {}: {}", NameOf(format), what),
          "replace the file, or leave it out"};
}

Error WithoutDecoder(ImageFormat format, std::string_view package) {
  return {Code::kUsage, fmt::format("this tpuest was built without {}", NameOf(format)),
          fmt::format("install {} and build it again", package)};
}

void CheckImageSize(ImageFormat format, int64_t height, int64_t width, int64_t channels) {
  if (height <= 0 || width <= 0) {
    throw DamagedImage(format, fmt::format("its size is {}x{}", height, width));
  }
  // Each side is below 2^31, so neither product overflows.
  if (height * width <= kMostImageBytes && height * width * channels <= kMostImageBytes) return;
  throw Error(Code::kData,
              fmt::format("{} of {}x{} pixels; the largest image has {} bytes of them",
                          NameOf(format), height, width, kMostImageBytes),
              "make it smaller, or leave it out");
}

Error WrongChannels(ImageFormat format, int channels, std::string_view possible) {
  return {Code::kData, fmt::format("this {} cannot be read with channels: {}; expected {}",
                                   NameOf(format), channels, possible)};
}

ImageHeader ReadImageHeader(std::string_view bytes) {
  switch (FormatOf(bytes)) {
    case ImageFormat::kJpeg:
      return JpegHeader(bytes);
    case ImageFormat::kPng:
      return PngHeader(bytes);
    case ImageFormat::kBmp:
      return BmpHeader(bytes);
    case ImageFormat::kGif:
      break;
  }
  return GifHeader(bytes);
}

void DecodeImage(std::string_view bytes, int channels, DecodedImage& image) {
  switch (FormatOf(bytes)) {
    case ImageFormat::kJpeg:
      return DecodeJpeg(bytes, {.channels = channels}, image);
    case ImageFormat::kPng:
      return DecodePng(bytes, channels, image);
    case ImageFormat::kBmp:
      return DecodeBmp(bytes, channels, image);
    case ImageFormat::kGif:
      return DecodeGif(bytes, channels, image);
  }
}

void DecodeAndCrop(std::string_view bytes, int channels, const CropWindow& window,
                   DecodedImage& image) {
  if (FormatOf(bytes) == ImageFormat::kJpeg) {
    return DecodeJpeg(bytes, {.channels = channels, .crop = window}, image);
  }
  DecodeImage(bytes, channels, image);
  Check(window.y + window.height <= image.height && window.x + window.width <= image.width);
  // Rows move towards the front, so no row is overwritten before it has moved.
  const auto row = static_cast<size_t>(window.width * image.channels);
  for (int64_t y = 0; y < window.height; ++y) {
    const int64_t from = ((window.y + y) * image.width + window.x) * image.channels;
    std::memmove(image.pixels.data() + static_cast<size_t>(y) * row, image.pixels.data() + from,
                 row);
  }
  image.Resize(window.height, window.width, image.channels);
}

}  // namespace tpuest
