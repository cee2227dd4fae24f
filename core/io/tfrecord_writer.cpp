#include <zlib.h>

#include <array>

#include "core/base/error.h"
#include "core/io/crc32c.h"
#include "core/io/tfrecord.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

}  // namespace

void AppendRecord(std::string& out, std::string_view record) {
  std::string length;
  AppendLittle(length, static_cast<uint64_t>(record.size()));
  out += length;
  AppendLittle(out, MaskCrc(Crc32c(length)));
  out += record;
  AppendLittle(out, MaskCrc(Crc32c(record)));
}

// Compresses the bytes that pass through it.
class RecordWriter::Deflater {
 public:
  explicit Deflater(Compression compression) {
    // A window of 15 bits; adding 16 selects gzip's format.
    const int window = 15 + (compression == Compression::kGzip ? 16 : 0);
    Check(deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) ==
          Z_OK);
  }
  ~Deflater() { deflateEnd(&zlib_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void Deflate(std::string_view bytes, bool last, AtomicFile& file) {
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    zlib_.avail_in = static_cast<uInt>(bytes.size());
    do {
      zlib_.next_out = output_.data();
      zlib_.avail_out = static_cast<uInt>(output_.size());
      Check(deflate(&zlib_, last ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR);
      file.Append(
          {reinterpret_cast<const char*>(output_.data()), output_.size() - zlib_.avail_out});
    } while (zlib_.avail_out == 0);
  }

 private:
  z_stream zlib_{};
  std::array<Bytef, 1 << 16> output_;
};

RecordWriter::RecordWriter(const std::string& path, Compression compression, bool fsync)
    : file_(path, fsync) {
  if (compression != Compression::kNone) deflater_ = std::make_unique<Deflater>(compression);
}

RecordWriter::~RecordWriter() = default;

void RecordWriter::Write(std::string_view record) {
  AppendRecord(buffer_, record);
  if (buffer_.size() >= kBufferBytes) Flush(false);
}

void RecordWriter::Close() {
  Flush(true);
  file_.Commit();
}

void RecordWriter::Flush(bool last) {
  // zlib counts in 32 bits.
  std::string_view rest = buffer_;
  while (deflater_ && rest.size() > kBufferBytes) {
    deflater_->Deflate(rest.substr(0, kBufferBytes), false, file_);
    rest.remove_prefix(kBufferBytes);
  }
  if (deflater_) {
    deflater_->Deflate(rest, last, file_);
  } else {
    file_.Append(rest);
  }
  buffer_.clear();
}

}  // namespace tpuest
