#pragma once
// Decodes JPEG, PNG, BMP and the first frame of GIF files. The format is detected from the first
// bytes, never from a name. Pixels are bit-identical to those of tf.io.decode_image and related
// ops.
//
// The size of an image is limited to kMostImageBytes of pixels, and the number of scans of a
// progressive JPEG is limited as well. A damaged file throws kData with a message that begins with
// the format ("damaged JPEG: ..."); the caller adds the file. A format that this program was built
// without throws kUsage.

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

// The format indicated by the first bytes; nullopt for any other format.
[[nodiscard]] std::optional<ImageFormat> ImageFormatOf(std::string_view bytes);

// True for a name that ends, in any case, in .bmp, .gif, .jpeg, .jpg or .png.
[[nodiscard]] bool HasImageEnding(std::string_view path);

// 512 MB, as in TensorFlow.
inline constexpr int64_t kMostImageBytes = int64_t{1} << 29;

// The properties of an image in its file's header.
struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;   // channels if the caller requests none: 1 gray, 2 gray and alpha, 3 colour, 4
                      // colour and alpha
  int bits = 8;       // bits per channel in the file
  std::string notes;  // "progressive, CMYK", "palette, interlaced"; may be empty
};

// Reads only the header. Throws kData for bytes that are not an image of these formats.
[[nodiscard]] ImageHeader ReadImageHeader(std::string_view bytes);

// A part of an image, in pixels: rows y..y+height-1, columns x..x+width-1.
struct CropWindow {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;
};

// Pixels [height, width, channels], row-major. Decoding into an existing image reuses its memory.
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

// Options of decoding a JPEG. The defaults are those of TensorFlow's ops: INTEGER_FAST, fancy
// upsampling, and EXIF orientation is ignored.
struct JpegDecoding {
  int channels = 0;           // 1 gray, 3 colour; 0: as the file has it
  int ratio = 1;              // 1, 2, 4, 8: divisor of height and width
  bool accurate_dct = false;  // dct_method INTEGER_ACCURATE
  bool fancy_upscaling = true;
  std::optional<CropWindow> crop;  // tf.io.decode_and_crop_jpeg: decodes only these blocks; edges
                                   // may differ from those of a crop after decoding
};

// Each decodes `bytes`, a whole file. `channels` is as in JpegDecoding; PNG also accepts 4 and, for
// gray images, 2. They throw Error.
void DecodeJpeg(std::string_view bytes, const JpegDecoding& how, DecodedImage& image);
void DecodePng(std::string_view bytes, int channels, DecodedImage& image);
void DecodeBmp(std::string_view bytes, int channels, DecodedImage& image);
void DecodeGif(std::string_view bytes, int channels, DecodedImage& image);  // the first frame

// tf.io.decode_image(bytes, channels, expand_animations=False).
void DecodeImage(std::string_view bytes, int channels, DecodedImage& image);

// Decodes only the part that the window needs if the format allows that (JPEG); otherwise decodes
// the whole image and crops it. The window must lie within the image.
void DecodeAndCrop(std::string_view bytes, int channels, const CropWindow& window,
                   DecodedImage& image);

// Encodes pixels as a JPEG file of this quality (1..100), with colour at half resolution; channels
// 1 or 3.
[[nodiscard]] std::string EncodeJpeg(const DecodedImage& image, int quality);

// Encodes pixels as a PNG file; channels 1 to 4.
[[nodiscard]] std::string EncodePng(const DecodedImage& image);

}  // namespace tpuest
