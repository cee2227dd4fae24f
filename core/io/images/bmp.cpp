// BMP: a header of 54 bytes or more, then rows of 8 (gray), 24 (BGR) or 32 (BGRA) bits per pixel.
// Each row is padded to 4 bytes, and the lowest row comes first unless the height is negative. All
// numbers are little-endian:
//
//     0  "BM"          10  uint32 offset of the pixels
//     18 int32 width   22  int32 height
//     28 uint16 bits per pixel      30 uint32 compression, 0 for none

#include <cstdlib>
#include <cstring>

#include "core/io/images/codecs.h"

namespace tpuest {
namespace {

constexpr ImageFormat kBmp = ImageFormat::kBmp;
constexpr size_t kBmpHeaderBytes = 34;

template <class T>
T NumberAt(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

struct BmpLayout {
  int64_t begin = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t row_bytes = 0;
  bool top_down = false;
};

BmpLayout BmpLayoutOf(std::string_view bytes) {
  if (bytes.size() < kBmpHeaderBytes) throw DamagedImage(kBmp, "the file ends early");
  const auto bits = NumberAt<uint16_t>(bytes, 28);
  const auto compression = NumberAt<uint32_t>(bytes, 30);
  // 3: a table gives the masks of the colours; those of 32-bit pixels select the same bytes as
  // without compression.
  if (compression != 0 && compression != 3) {
    throw Error(Code::kData, "compressed BMP; expected one without compression",
                "save it without, or as PNG");
  }
  if (bits != 8 && bits != 24 && bits != 32) {
    throw Error(Code::kData, fmt::format("BMP of {} bits a pixel; expected 8, 24 or 32", bits),
                "save it as PNG");
  }
  const int64_t height = NumberAt<int32_t>(bytes, 22);
  BmpLayout layout{NumberAt<uint32_t>(bytes, 10),
                   std::abs(height),
                   NumberAt<int32_t>(bytes, 18),
                   bits / 8,
                   0,
                   height < 0};
  CheckImageSize(kBmp, layout.height, layout.width, layout.channels);
  layout.row_bytes = (layout.width * layout.channels + 3) / 4 * 4;
  // TensorFlow also requires the exact size.
  const int64_t more =
      static_cast<int64_t>(bytes.size()) - layout.begin - layout.height * layout.row_bytes;
  if (more < 0) throw DamagedImage(kBmp, "the file ends early");
  if (more > 0) throw DamagedImage(kBmp, fmt::format("{} bytes follow its pixels", more));
  return layout;
}

}  // namespace

ImageHeader BmpHeader(std::string_view bytes) {
  const BmpLayout layout = BmpLayoutOf(bytes);
  return {kBmp, layout.height, layout.width, static_cast<int>(layout.channels), 8, ""};
}

void DecodeBmp(std::string_view bytes, int channels, DecodedImage& image) {
  const BmpLayout layout = BmpLayoutOf(bytes);
  if (channels != 0 && channels != 3 && channels != 4) {
    throw WrongChannels(kBmp, channels, "0, 3 or 4");
  }
  image.Resize(layout.height, layout.width, channels == 0 ? layout.channels : channels);
  uint8_t* out = image.pixels.data();
  for (int64_t y = 0; y < layout.height; ++y) {
    const int64_t row = layout.top_down ? y : layout.height - 1 - y;
    const auto* in =
        reinterpret_cast<const uint8_t*>(bytes.data()) + layout.begin + row * layout.row_bytes;
    for (int64_t x = 0; x < layout.width; ++x, in += layout.channels, out += image.channels) {
      const bool gray = layout.channels == 1;
      out[0] = in[gray ? 0 : 2];
      if (image.channels == 1) continue;
      out[1] = in[gray ? 0 : 1];
      out[2] = in[0];
      if (image.channels == 4) out[3] = layout.channels == 4 ? in[3] : uint8_t{255};
    }
  }
}

}  // namespace tpuest
