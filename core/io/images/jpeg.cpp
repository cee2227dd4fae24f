// Decodes JPEG by libjpeg-turbo with TensorFlow's settings, so the pixels have the same bits. As in
// TensorFlow, refuses a file that ends early, but accepts other damage that libjpeg only warns of.

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/io/images/codecs.h"

#ifdef TPUEST_HAS_JPEG
#include <jpeglib.h>

#include <cstdio>
#endif

namespace tpuest {

#ifdef TPUEST_HAS_JPEG
namespace {

constexpr ImageFormat kJpeg = ImageFormat::kJpeg;
// Each scan of a progressive file costs a pass over the image, and a file may have any number.
constexpr int kMostScans = 500;

// Owns libjpeg's state for one file and the jump that reports its errors.
class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) : jumps_(kJpeg) {
    state_.err = jpeg_std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = OnError;
    errors_.emit_message = [](j_common_ptr, int) {};
    progress_.progress_monitor = OnProgress;
    source_.init_source = [](j_decompress_ptr) {};
    source_.term_source = [](j_decompress_ptr) {};
    source_.resync_to_restart = jpeg_resync_to_restart;
    // Returns false, since all bytes were given at the start: libjpeg then suspends, and its caller
    // sees no progress.
    source_.fill_input_buffer = [](j_decompress_ptr) -> boolean { return FALSE; };
    source_.skip_input_data = OnSkip;
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source_.bytes_in_buffer = bytes.size();
    jumps_.Run([&] { jpeg_create_decompress(&state_); });
    state_.progress = &progress_;
    state_.src = &source_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&state_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  void ReadHeader() {
    int found = JPEG_SUSPENDED;
    Run([&] { found = jpeg_read_header(&state_, TRUE); });
    if (found != JPEG_HEADER_OK) throw EndsEarly();
  }
  template <class Call>
  void Run(const Call& call) {
    jumps_.Run(call);
  }
  [[nodiscard]] static Error EndsEarly() { return DamagedImage(kJpeg, "the file ends early"); }
  jpeg_decompress_struct& state() { return state_; }

 private:
  static void OnError(j_common_ptr state) {
    char text[JMSG_LENGTH_MAX];
    state->err->format_message(state, text);
    static_cast<JpegReader*>(state->client_data)->jumps_.Leave(text);
  }
  static void OnProgress(j_common_ptr state) {
    if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= kMostScans) return;
    static_cast<JpegReader*>(state->client_data)->jumps_.Leave("it has more than 500 scans");
  }
  static void OnSkip(j_decompress_ptr state, long bytes) {
    jpeg_source_mgr& source = *state->src;
    const size_t skipped =
        std::min(static_cast<size_t>(std::max(bytes, 0L)), source.bytes_in_buffer);
    source.next_input_byte += skipped;
    source.bytes_in_buffer -= skipped;
  }

  LongJumps jumps_;
  jpeg_decompress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_source_mgr source_ = {};
};

// Adobe's files hold inverted CMYK.
void CmykToRgb(const uint8_t* cmyk, int64_t width, bool inverted, uint8_t* rgb) {
  for (int64_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int k = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] =
          static_cast<uint8_t>(inverted ? k * cmyk[c] / 255 : (255 - k) * (255 - cmyk[c]) / 255);
    }
  }
}

int ChannelsOf(const jpeg_decompress_struct& state, int wished) {
  const int channels = wished == 0 ? std::min(state.num_components, 3) : wished;
  if (channels == 1 || channels == 3) return channels;
  throw WrongChannels(kJpeg, channels, "1 or 3");
}

// The columns that libjpeg decodes: they start at the block that contains the window's first
// column.
struct Scanlines {
  JDIMENSION first = 0;
  JDIMENSION width = 0;
};

// Reads the rows of the image, or of the window, after decompression has started.
void ReadRows(JpegReader& reader, const CropWindow& window, Scanlines lines, DecodedImage& image) {
  jpeg_decompress_struct& state = reader.state();
  const auto skipped = static_cast<size_t>(window.x) - lines.first;
  const bool cmyk = state.out_color_space == JCS_CMYK;
  const auto components = static_cast<size_t>(state.output_components);
  const bool direct = !cmyk && skipped == 0 && lines.width == static_cast<size_t>(window.width);
  std::vector<uint8_t> line(direct ? 0 : lines.width * components);
  const auto row_bytes = static_cast<size_t>(window.width * image.channels);
  uint8_t* out = image.pixels.data();
  for (int64_t y = 0; y < window.height; ++y, out += row_bytes) {
    JSAMPROW at = direct ? out : line.data();
    JDIMENSION read = 0;
    reader.Run([&] { read = jpeg_read_scanlines(&state, &at, 1); });
    if (read == 0) throw JpegReader::EndsEarly();
    if (direct) continue;
    const uint8_t* const from = line.data() + skipped * components;
    if (cmyk) {
      CmykToRgb(from, window.width, state.saw_Adobe_marker != 0, out);
    } else {
      std::memcpy(out, from, row_bytes);
    }
  }
}

void CheckWindow(const CropWindow& window, int64_t height, int64_t width) {
  if (window.y >= 0 && window.x >= 0 && window.height > 0 && window.width > 0 &&
      window.y + window.height <= height && window.x + window.width <= width) {
    return;
  }
  throw Error(Code::kData,
              fmt::format("the crop window (rows {}+{}, columns {}+{}) is not within {}x{} pixels",
                          window.y, window.height, window.x, window.width, height, width));
}

}  // namespace

ImageHeader JpegHeader(std::string_view bytes) {
  JpegReader reader(bytes);
  reader.ReadHeader();
  const jpeg_decompress_struct& state = reader.state();
  ImageHeader header{kJpeg, state.image_height, state.image_width};
  header.channels = std::min(state.num_components, 3);
  header.bits = state.data_precision;
  if (state.progressive_mode != 0) header.notes = "progressive";
  if (state.jpeg_color_space == JCS_CMYK || state.jpeg_color_space == JCS_YCCK) {
    header.notes += header.notes.empty() ? "CMYK" : ", CMYK";
  }
  return header;
}

void DecodeJpeg(std::string_view bytes, const JpegDecoding& how, DecodedImage& image) {
  JpegReader reader(bytes);
  reader.ReadHeader();
  jpeg_decompress_struct& state = reader.state();
  const int channels = ChannelsOf(state, how.channels);
  const bool four = state.jpeg_color_space == JCS_CMYK || state.jpeg_color_space == JCS_YCCK;
  state.out_color_space = channels == 1 ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
  state.do_fancy_upsampling = how.fancy_upscaling ? TRUE : FALSE;
  state.scale_num = 1;
  state.scale_denom = static_cast<unsigned>(how.ratio);
  state.dct_method = how.accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
  reader.Run([&] { jpeg_calc_output_dimensions(&state); });
  CheckImageSize(kJpeg, state.output_height, state.output_width, channels);
  CropWindow window{0, 0, state.output_height, state.output_width};
  if (how.crop) {
    CheckWindow(*how.crop, window.height, window.width);
    window = *how.crop;
  }
  boolean started = FALSE;
  reader.Run([&] { started = jpeg_start_decompress(&state); });
  if (started == FALSE) throw JpegReader::EndsEarly();
  Scanlines lines{0, state.output_width};
  if (how.crop) {
    lines = {static_cast<JDIMENSION>(window.x), static_cast<JDIMENSION>(window.width)};
    reader.Run([&] { jpeg_crop_scanline(&state, &lines.first, &lines.width); });
    JDIMENSION left = static_cast<JDIMENSION>(window.y);
    if (left > 0) {
      JDIMENSION skipped = 0;
      reader.Run([&] { skipped = jpeg_skip_scanlines(&state, left); });
      if (skipped != left) throw JpegReader::EndsEarly();
    }
  }
  image.Resize(window.height, window.width, channels);
  ReadRows(reader, window, lines, image);
}

namespace {

// Owns libjpeg's state for a file that is written.
class JpegWriter {
 public:
  JpegWriter() : jumps_(kJpeg) {
    state_.err = jpeg_std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = [](j_common_ptr state) {
      char text[JMSG_LENGTH_MAX];
      state->err->format_message(state, text);
      static_cast<JpegWriter*>(state->client_data)->jumps_.Leave(text);
    };
    jumps_.Run([&] { jpeg_create_compress(&state_); });
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&state_);
    std::free(buffer_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  std::string Write(const DecodedImage& image, int quality) {
    jumps_.Run([&] {
      jpeg_mem_dest(&state_, &buffer_, &size_);
      state_.image_width = static_cast<JDIMENSION>(image.width);
      state_.image_height = static_cast<JDIMENSION>(image.height);
      state_.input_components = static_cast<int>(image.channels);
      state_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_set_defaults(&state_);
      jpeg_set_quality(&state_, quality, TRUE);
      jpeg_start_compress(&state_, TRUE);
      const auto row_bytes = image.width * image.channels;
      while (state_.next_scanline < state_.image_height) {
        // libjpeg takes rows that are not const, but does not write to them.
        auto* row = const_cast<JSAMPROW>(image.pixels.data() + state_.next_scanline * row_bytes);
        jpeg_write_scanlines(&state_, &row, 1);
      }
      jpeg_finish_compress(&state_);
    });
    return {reinterpret_cast<const char*>(buffer_), size_};
  }

 private:
  LongJumps jumps_;
  jpeg_compress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::string EncodeJpeg(const DecodedImage& image, int quality) {
  return JpegWriter().Write(image, quality);
}

#else

namespace {

[[noreturn]] void NoJpeg() { throw WithoutDecoder(ImageFormat::kJpeg, "libjpeg62-turbo-dev"); }

}  // namespace

ImageHeader JpegHeader(std::string_view) { NoJpeg(); }
void DecodeJpeg(std::string_view, const JpegDecoding&, DecodedImage&) { NoJpeg(); }
std::string EncodeJpeg(const DecodedImage&, int) { NoJpeg(); }

#endif

}  // namespace tpuest
