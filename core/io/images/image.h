#pragma once
// Image files as pixels: JPEG, PNG, BMP and the first frame of a GIF, told apart by their first
// bytes, never by a name. Pixels are those of tf.io.decode_image and its kind, to the bit.
//
// What a file may ask for is bounded: kMostImageBytes of pixels, and so many scans of a progressive
// JPEG. A damaged file is an Error of code kData whose message begins with the format ("damaged
// JPEG: ..."); the caller adds the file. A format that this program was built without is kUsage.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tpuest {

enum class ImageFormat : uint8_t { kJpeg, kPng, kBmp, kGif };

// "JPEG".
[[nodiscard]] std::string_view NameOf(ImageFormat format);

// The format that the first bytes say; nullopt for none of ours.
[[nodiscard]] std::optional<ImageFormat> ImageFormatOf(std::string_view bytes);

// True for a name that ends, in any case, in .bmp, .gif, .jpeg, .jpg or .png.
[[nodiscard]] bool HasImageEnding(std::string_view path);

// TensorFlow's bound, too: 512 MB.
inline constexpr int64_t kMostImageBytes = int64_t{1} << 29;

// What a file says before its pixels.
struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;   // that decoding without a wish gives: 1 gray, 2 with alpha, 3 colour, 4 with
                      // alpha
  int bits = 8;       // of a channel, in the file
  std::string notes;  // "progressive, CMYK", "palette, interlaced"; may be empty
};

// Reads the header alone. Throws Error kData for bytes that are no image, or none of ours.
[[nodiscard]] ImageHeader ReadImageHeader(std::string_view bytes);

// A part of an image, in pixels: rows y..y+height-1, columns x..x+width-1.
struct CropWindow {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;
};

// Pixels [height, width, channels], row-major. Decoding into one again uses its memory.
struct DecodedImage {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<uint8_t> pixels;

  void Resize(int64_t new_height, int64_t new_width, int64_t new_channels) {
    height = new_height;
    width = new_width;
    channels = new_channels;
    pixels.resize(static_cast<size_t>(height * width * channels));
  }
};

// How TensorFlow's ops read a JPEG unless told otherwise: INTEGER_FAST, fancy upsampling, and
// orientation in EXIF is not looked at.
struct JpegDecoding {
  int channels = 0;           // 1 gray, 3 colour; 0: as the file has it
  int ratio = 1;              // 1, 2, 4, 8: so many times smaller
  bool accurate_dct = false;  // dct_method INTEGER_ACCURATE
  bool fancy_upscaling = true;
  std::optional<CropWindow> crop;  // tf.io.decode_and_crop_jpeg: only these blocks are decoded; its
                                   // edges may differ from those of a crop after decoding
};

// Each decodes `bytes`, a whole file. `channels` as in JpegDecoding; PNG also takes 4 and, in gray,
// 2. Throw Error.
void DecodeJpeg(std::string_view bytes, const JpegDecoding& how, DecodedImage& image);
void DecodePng(std::string_view bytes, int channels, DecodedImage& image);
void DecodeBmp(std::string_view bytes, int channels, DecodedImage& image);
void DecodeGif(std::string_view bytes, int channels, DecodedImage& image);  // the first frame

// tf.io.decode_image(bytes, channels, expand_animations=False).
void DecodeImage(std::string_view bytes, int channels, DecodedImage& image);

// Decodes no more of the file than the window needs where the format allows that (JPEG); otherwise
// decodes all and cuts. The window lies within the image.
void DecodeAndCrop(std::string_view bytes, int channels, const CropWindow& window,
                   DecodedImage& image);

// Pixels as a JPEG file of this quality (1..100), colour at half resolution; channels 1 or 3.
[[nodiscard]] std::string EncodeJpeg(const DecodedImage& image, int quality);

// Pixels as a PNG file; channels 1 to 4.
[[nodiscard]] std::string EncodePng(const DecodedImage& image);

}  // namespace tpuest
