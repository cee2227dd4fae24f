// GIF: the first frame, on a black canvas of the screen's size, as RGB.
//
//     "GIF87a" or "GIF89a"
//     screen         uint16 width, height; flags (128: a palette follows, of 2^(1 + flags % 8)
//                    colours); background; aspect
//     blocks         '!' label, sub-blocks: extensions, passed over
//                    ',' uint16 x, y, width, height; flags (128: its own palette, 64: interlaced);
//                        palette; least code size; sub-blocks of LZW codes
//     sub-blocks     a byte of length and then that many bytes, repeated up to a length of 0
//
// LZW: codes of least + 1 bits and more, lowest bit first. Code 2^least clears the table, and the
// next code ends the data; each other code stands for the string of an earlier code and one more
// byte.

#include <algorithm>
#include <array>
#include <vector>

#include "core/io/images/codecs.h"

namespace tpuest {
namespace {

constexpr ImageFormat kGif = ImageFormat::kGif;

class GifBytes {
 public:
  explicit GifBytes(std::string_view bytes) : left_(bytes) {}
  uint8_t Byte() { return static_cast<uint8_t>(Take(1)[0]); }
  int64_t Word() {
    const int64_t low = Byte();
    return low | Byte() << 8;
  }
  std::string_view Take(size_t count) {
    if (left_.size() < count) throw DamagedImage(kGif, "the file ends early");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  // The palette that a flags byte announces; empty if it announces none.
  std::string_view Palette(uint8_t flags) {
    return (flags & 128U) == 0 ? std::string_view() : Take(size_t{3} << (1 + flags % 8));
  }
  void SkipBlocks() {
    for (size_t length = Byte(); length > 0; length = Byte()) (void)Take(length);
  }

 private:
  std::string_view left_;
};

// The codes in a frame's sub-blocks.
class GifCodes {
 public:
  explicit GifCodes(GifBytes& bytes) : bytes_(bytes) {}
  int Next(int width) {
    while (count_ < width) {
      if (block_.empty()) {
        block_ = bytes_.Take(bytes_.Byte());
        if (block_.empty()) throw DamagedImage(kGif, "the frame ends early");
      }
      bits_ |= static_cast<uint32_t>(static_cast<uint8_t>(block_.front())) << count_;
      block_.remove_prefix(1);
      count_ += 8;
    }
    const int code = static_cast<int>(bits_ & ((1U << width) - 1));
    bits_ >>= width;
    count_ -= width;
    return code;
  }

 private:
  GifBytes& bytes_;
  std::string_view block_;
  uint32_t bits_ = 0;
  int count_ = 0;
};

// The palette indices of a frame of `count` pixels, in the order of the file.
std::vector<uint8_t> Unpack(GifBytes& bytes, size_t count) {
  constexpr int kMostCodes = 4096;
  const int least = bytes.Byte();
  if (least < 1 || least > 8) throw DamagedImage(kGif, fmt::format("codes of {} bits", least));
  const int clear = 1 << least;
  std::array<int16_t, kMostCodes> before{};  // the code of the string without its last byte
  std::array<uint8_t, kMostCodes> last{};    // the last byte of the string
  std::array<uint8_t, kMostCodes> string{};
  GifCodes codes(bytes);
  std::vector<uint8_t> pixels;
  pixels.reserve(count);
  int width = least + 1;
  int size = clear + 2;
  int previous = -1;
  uint8_t first = 0;
  while (pixels.size() < count) {
    const int code = codes.Next(width);
    if (code == clear + 1) throw DamagedImage(kGif, "the frame ends early");
    if (code == clear) {
      width = least + 1;
      size = clear + 2;
      previous = -1;
      continue;
    }
    if (code > size || (code == size && previous < 0) || (code >= clear && previous < 0)) {
      throw DamagedImage(kGif, fmt::format("code {} of a table of {}", code, size));
    }
    // The code that is being defined stands for the previous string and that string's first byte.
    size_t length = 0;
    int at = code;
    if (code == size) {
      string[length++] = first;
      at = previous;
    }
    for (; at >= clear; at = before[static_cast<size_t>(at)]) {
      string[length++] = last[static_cast<size_t>(at)];
    }
    first = static_cast<uint8_t>(at);
    string[length++] = first;
    if (previous >= 0 && size < kMostCodes) {
      before[static_cast<size_t>(size)] = static_cast<int16_t>(previous);
      last[static_cast<size_t>(size)] = first;
      ++size;
      if (size == 1 << width && width < 12) ++width;
    }
    previous = code;
    length = std::min(length, string.size());
    for (size_t i = length; i-- > 0 && pixels.size() < count;) pixels.push_back(string[i]);
  }
  return pixels;
}

// The row of the image that is stored at position i in the file.
int64_t InterlacedRow(int64_t i, int64_t height) {
  constexpr std::array<std::array<int64_t, 2>, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  for (const auto& [begin, step] : kPasses) {
    const int64_t rows = (height - begin + step - 1) / step;
    if (i < rows) return begin + i * step;
    i -= std::max<int64_t>(rows, 0);
  }
  return 0;
}

struct GifScreen {
  int64_t height = 0;
  int64_t width = 0;
  std::string_view palette;
};

GifScreen ReadScreen(GifBytes& bytes) {
  const std::string_view version = bytes.Take(6);
  if (version != "GIF87a" && version != "GIF89a") throw DamagedImage(kGif, "no version 87a or 89a");
  GifScreen screen;
  screen.width = bytes.Word();
  screen.height = bytes.Word();
  const uint8_t flags = bytes.Byte();
  (void)bytes.Take(2);
  screen.palette = bytes.Palette(flags);
  CheckImageSize(kGif, screen.height, screen.width, 3);
  return screen;
}

}  // namespace

ImageHeader GifHeader(std::string_view bytes) {
  GifBytes reader(bytes);
  const GifScreen screen = ReadScreen(reader);
  return {kGif, screen.height, screen.width, 3, 8, "the first frame"};
}

void DecodeGif(std::string_view bytes, int channels, DecodedImage& image) {
  if (channels != 0 && channels != 3) throw WrongChannels(kGif, channels, "0 or 3");
  GifBytes reader(bytes);
  const GifScreen screen = ReadScreen(reader);
  uint8_t kind = reader.Byte();
  for (; kind == '!'; kind = reader.Byte()) {
    (void)reader.Byte();
    reader.SkipBlocks();
  }
  if (kind != ',') throw DamagedImage(kGif, "it has no frame");
  const int64_t left = reader.Word();
  const int64_t top = reader.Word();
  const int64_t width = reader.Word();
  const int64_t height = reader.Word();
  const uint8_t flags = reader.Byte();
  const std::string_view own = reader.Palette(flags);
  const std::string_view palette = own.empty() ? screen.palette : own;
  if (palette.empty()) throw DamagedImage(kGif, "it has no palette");
  if (left + width > screen.width || top + height > screen.height) {
    throw DamagedImage(kGif, "its first frame is larger than its screen");
  }
  const std::vector<uint8_t> indices = Unpack(reader, static_cast<size_t>(width * height));
  image.Resize(screen.height, screen.width, 3);
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{0});
  const uint8_t* from = indices.data();
  for (int64_t i = 0; i < height; ++i) {
    const int64_t y = (flags & 64U) != 0 ? InterlacedRow(i, height) : i;
    uint8_t* out = image.pixels.data() + ((top + y) * screen.width + left) * 3;
    for (int64_t x = 0; x < width; ++x, out += 3) {
      const size_t color = size_t{*from++} * 3;
      if (color >= palette.size()) throw DamagedImage(kGif, "a colour beyond its palette");
      for (size_t c = 0; c < 3; ++c) out[c] = static_cast<uint8_t>(palette[color + c]);
    }
  }
}

}  // namespace tpuest
