// Decodes PNG by libpng, with TensorFlow's transformations in its order: 16-bit values lose their
// low byte, a palette becomes colour, alpha is dropped or added and never blended, and colour
// becomes gray with weights 0.299 for red and 0.587 for green.

#include <algorithm>
#include <cstring>

#include "core/io/images/codecs.h"

#ifdef TPUEST_HAS_PNG
#include <png.h>
#endif

namespace tpuest {

#ifdef TPUEST_HAS_PNG
namespace {

constexpr ImageFormat kPng = ImageFormat::kPng;

// Owns libpng's state for one file and the jump that reports its errors.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : bytes_(bytes), jumps_(kPng) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError,
                                  [](png_structp, png_const_charp) {});
    if (png_ == nullptr) throw Error(Code::kResource, "no memory is left to read a PNG with");
    info_ = png_create_info_struct(png_);
  }
  // Not part of the constructor: if this throws, the destructor frees the memory.
  void ReadHeader() {
    Run([this] {
      png_set_read_fn(png_, this, OnRead);
      png_read_info(png_, info_);
    });
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  [[nodiscard]] int64_t height() const { return png_get_image_height(png_, info_); }
  [[nodiscard]] int64_t width() const { return png_get_image_width(png_, info_); }
  [[nodiscard]] int bits() const { return png_get_bit_depth(png_, info_); }
  [[nodiscard]] int color_type() const { return png_get_color_type(png_, info_); }
  [[nodiscard]] bool interlaced() const {
    return png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
  }
  [[nodiscard]] bool has_transparency() const {
    return png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
  }
  // The channels of the decoded image if the caller requests none.
  [[nodiscard]] int channels() const {
    if (color_type() == PNG_COLOR_TYPE_PALETTE) return has_transparency() ? 4 : 3;
    return png_get_channels(png_, info_);
  }

  void Read(DecodedImage& image) {
    const int passes = Transform(static_cast<int>(image.channels));
    const auto row_bytes = static_cast<size_t>(image.width * image.channels);
    Check(png_get_rowbytes(png_, info_) == row_bytes);
    Run([&, this] {
      for (int pass = 0; pass < passes; ++pass) {
        uint8_t* row = image.pixels.data();
        for (int64_t y = 0; y < image.height; ++y, row += row_bytes) {
          png_read_row(png_, row, nullptr);
        }
      }
      png_read_end(png_, info_);
    });
  }

 private:
  static void OnError(png_structp png, png_const_charp text) {
    static_cast<PngReader*>(png_get_error_ptr(png))->jumps_.Leave(text);
  }
  static void OnRead(png_structp png, png_bytep to, size_t size) {
    auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (reader.bytes_.size() < size) reader.jumps_.Leave("the file ends early");
    std::memcpy(to, reader.bytes_.data(), size);
    reader.bytes_.remove_prefix(size);
  }
  template <class Call>
  void Run(const Call& call) {
    jumps_.Run(call);
  }

  // Asks for `channels` of 8 bits each. Returns the number of passes over the image.
  int Transform(int channels) {
    const bool want_alpha = channels == 2 || channels == 4;
    const bool want_gray = channels < 3;
    const bool has_alpha = (color_type() & PNG_COLOR_MASK_ALPHA) != 0;
    const bool is_gray = (color_type() & PNG_COLOR_MASK_COLOR) == 0;
    int passes = 1;
    Run([&, this] {
      if (want_alpha && has_transparency()) {
        png_set_tRNS_to_alpha(png_);
      } else if (want_alpha && !has_alpha) {
        png_set_add_alpha(png_, (1U << static_cast<unsigned>(bits())) - 1, PNG_FILLER_AFTER);
      } else if (!want_alpha && (has_alpha || has_transparency())) {
        png_set_strip_alpha(png_);
      }
      if (bits() > 8) png_set_strip_16(png_);
      png_set_packing(png_);
      passes = png_set_interlace_handling(png_);
      if (color_type() == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
      if (is_gray && bits() < 8) png_set_expand_gray_1_2_4_to_8(png_);
      if (want_gray && !is_gray) png_set_rgb_to_gray(png_, 1, 0.299, 0.587);
      if (!want_gray && is_gray) png_set_gray_to_rgb(png_);
      png_read_update_info(png_, info_);
    });
    return passes;
  }

  std::string_view bytes_;  // the bytes not yet read
  LongJumps jumps_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

ImageHeader PngHeader(std::string_view bytes) {
  PngReader reader(bytes);
  reader.ReadHeader();
  ImageHeader header{kPng, reader.height(), reader.width(), reader.channels(), reader.bits(), ""};
  if (reader.color_type() == PNG_COLOR_TYPE_PALETTE) header.notes = "palette";
  if (reader.interlaced()) header.notes += header.notes.empty() ? "interlaced" : ", interlaced";
  return header;
}

void DecodePng(std::string_view bytes, int channels, DecodedImage& image) {
  if (channels < 0 || channels > 4) throw WrongChannels(kPng, channels, "1 to 4");
  PngReader reader(bytes);
  reader.ReadHeader();
  if (channels == 0) channels = reader.channels();
  CheckImageSize(kPng, reader.height(), reader.width(), channels);
  image.Resize(reader.height(), reader.width(), channels);
  reader.Read(image);
}

std::string EncodePng(const DecodedImage& image) {
  constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                      PNG_FORMAT_RGBA};
  Check(image.channels >= 1 && image.channels <= 4);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = kFormats[image.channels - 1];
  png_alloc_size_t size = 0;
  std::string file;
  for (int pass = 0; pass < 2; ++pass) {  // the first pass finds the size
    void* const to = pass == 0 ? nullptr : file.data();
    if (png_image_write_to_memory(&png, to, &size, 0, image.pixels.data(), 0, nullptr) == 0) {
      throw Error(Code::kResource, fmt::format("no PNG could be made: {}", png.message));
    }
    file.resize(size);
  }
  return file;
}

#else

ImageHeader PngHeader(std::string_view) { throw WithoutDecoder(ImageFormat::kPng, "libpng-dev"); }
void DecodePng(std::string_view, int, DecodedImage&) {
  throw WithoutDecoder(ImageFormat::kPng, "libpng-dev");
}
std::string EncodePng(const DecodedImage&) {
  throw WithoutDecoder(ImageFormat::kPng, "libpng-dev");
}

#endif

}  // namespace tpuest
