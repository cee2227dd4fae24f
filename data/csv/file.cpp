#include "data/csv/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/process/system_error.h"
#include "core/io/byte_stream.h"

namespace tpuest::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// Large reads for passes over the whole file, small ones for sequential reads on demand.
constexpr size_t kScanBytes = size_t{1} << 20;
constexpr size_t kAheadBytes = size_t{1} << 15;

// A CSV file may well begin with bytes like zlib's header ("x^2"), but never like gzip's.
void CheckCompression(const std::string& path, std::string_view first, Compression expected) {
  const Compression found = CompressionOf(first);
  if (found == expected) return;
  if (expected == Compression::kNone && found != Compression::kGzip) return;
  throw Error(Code::kData,
              expected == Compression::kNone
                  ? fmt::format("{}: the file is compressed with gzip", path)
                  : fmt::format("{}: the file's compression does not match compression_type", path),
              found == Compression::kGzip   ? "compression_type: GZIP"
              : found == Compression::kZlib ? "compression_type: ZLIB"
                                            : "compression_type: null");
}

Compression CompressionNamed(const std::optional<std::string>& name) {
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  return Compression::kNone;
}

// A pipe has no size and cannot be read twice, so it is kept in memory whatever its length.
bool IsLargeFile(const std::string& path, uint64_t kept_bytes) {
  struct stat info {};
  return path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         static_cast<uint64_t>(info.st_size) > kept_bytes;
}

}  // namespace

void RecordOffsets::Append(uint64_t offset) {
  const size_t at = size_++ % kBlock;
  if (at == 0) blocks_.emplace_back().base = offset;
  blocks_.back().offsets[at] = static_cast<uint32_t>(offset - blocks_.back().base);
}

CsvFile::CsvFile(std::string path, const Options& options) : path_(std::move(path)) {
  Open(options);
  try {
    Index(options);
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
}

CsvFile::~CsvFile() {
  if (fd_ >= 0) ::close(fd_);
}

void CsvFile::Open(const Options& options) {
  const Compression compression = CompressionNamed(options.compression_type);
  std::unique_ptr<ByteStream> stream = OpenRawStream(path_);
  // The first bytes tell gzip and zlib. They are put back in front of the rest, because a pipe can
  // be read only once.
  std::string first(3, '\0');
  first.resize(stream->Read(first.data(), first.size()));
  CheckCompression(path_, first, compression);
  if (compression == Compression::kNone && IsLargeFile(path_, options.kept_bytes)) {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    // The size of the open file, because the file at the path may have been replaced.
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) {
      ThrowErrno(path_, "read");
    }
    size_ = static_cast<uint64_t>(info.st_size);
    return;
  }
  stream = Rejoin(std::move(first), std::move(stream));
  if (compression != Compression::kNone) stream = InflateStream(std::move(stream), path_);
  memory_ = ReadAll(*stream);
  size_ = memory_.size();
}

void CsvFile::Fetch(uint64_t begin, size_t size, std::string& to) const {
  if (fd_ < 0) {
    to.assign(std::string_view(memory_).substr(begin, size));
    return;
  }
  to.resize(std::min<uint64_t>(size, size_ - begin));
  for (size_t done = 0; done < to.size();) {
    // pread has no position of its own, so threads may share the descriptor.
    const ssize_t n =
        ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ThrowErrno(path_, "read");
    if (n == 0) {
      throw Error(Code::kData,
                  fmt::format("{}: the file shrank to {} bytes; it had {} when it was opened",
                              path_, begin + done, size_));
    }
    done += static_cast<size_t>(n);
  }
}

// Reads the records in pieces of kScanBytes. `bytes` begins with a record whenever a piece is read,
// so no record is assembled from two pieces.
void CsvFile::Index(const Options& options) {
  std::string bytes;
  uint64_t begin = 0;  // position of `bytes` in the file
  Fetch(0, kScanBytes, bytes);
  size_t at = bytes.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  bool in_header = options.header;
  while (begin + at < size_) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    const bool last = begin + bytes.size() == size_;
    const std::optional<size_t> record = CsvRecordSize(rest, last, options.dialect);
    if (record.value_or(rest.size()) >= kMostRecordBytes) {
      Cursor cursor;
      throw Error(Code::kData,
                  fmt::format("a record of {} MB or more begins here", kMostRecordBytes >> 20),
                  "is a quote never closed?")
          .At(PlaceAt(begin + at, cursor));
    }
    if (!record) {
      begin += at;
      // A piece without a complete record is read again with twice the size, so the cost of a long
      // record stays linear, up to kMostRecordBytes.
      const size_t size = at == 0 ? bytes.size() * 2 : kScanBytes;
      at = 0;
      Fetch(begin, size, bytes);
      continue;
    }
    if (in_header) {
      header_at_ = begin + at;
      header_ = WithoutLineEnd(rest.substr(0, *record));
    } else {
      offsets_.Append(begin + at);
    }
    in_header = false;
    at += *record;
  }
  // The end of the last record: there is one more offset than records().
  offsets_.Append(size_);
}

// The number of bytes to fetch if records are read in order from record i on.
size_t CsvFile::AheadFrom(int64_t i, int64_t records_after) const {
  if (records_after < 0) return kAheadBytes;
  const int64_t end = std::min(i + records_after + 1, records());
  return std::min<uint64_t>(kAheadBytes,
                            offsets_[static_cast<size_t>(end)] - offsets_[static_cast<size_t>(i)]);
}

std::string_view CsvFile::Record(int64_t i, Window& window, int64_t records_after) const {
  const uint64_t begin = offsets_[static_cast<size_t>(i)];
  const size_t size = offsets_[static_cast<size_t>(i) + 1] - begin;
  if (fd_ < 0) return WithoutLineEnd(std::string_view(memory_).substr(begin, size));
  const uint64_t end_of_window = window.begin + window.bytes.size();
  if (window.file != this || begin < window.begin || begin + size > end_of_window) {
    // A reader that continues where the last record ended probably reads sequentially; a shuffled
    // read fetches only its record.
    const bool in_order = window.file == this && begin <= end_of_window && begin >= window.begin;
    // Marks the window as empty while it is filled, because Fetch may throw.
    window.file = nullptr;
    Fetch(begin, in_order ? std::max(size, AheadFrom(i, records_after)) : size, window.bytes);
    window.file = this;
    window.begin = begin;
  }
  return WithoutLineEnd(std::string_view(window.bytes).substr(begin - window.begin, size));
}

Place CsvFile::PlaceAt(uint64_t position, Cursor& cursor) const {
  std::string bytes;
  while (cursor.position < position) {
    Fetch(cursor.position, std::min<uint64_t>(kScanBytes, position - cursor.position), bytes);
    std::string_view rest = bytes;
    // The byte order mark is not part of the first line.
    if (cursor.position == 0 && rest.starts_with(kByteOrderMark)) {
      rest.remove_prefix(kByteOrderMark.size());
    }
    for (const char c : rest) {
      // CRLF is one line end, counted at its CR; cursor.before handles one that two pieces share.
      const bool ends_crlf = c == '\n' && cursor.before == '\r';
      cursor.before = c;
      if (ends_crlf) continue;
      if (c == '\n' || c == '\r') {
        ++cursor.line;
        cursor.column = 1;
      } else if ((static_cast<uint8_t>(c) & 0xc0) != 0x80) {  // not a continuation byte of UTF-8
        ++cursor.column;
      }
    }
    cursor.position += bytes.size();
  }
  return {path_, cursor.line, cursor.column};
}

Place CsvFile::PlaceOf(int64_t i, size_t offset, Cursor& cursor) const {
  return PlaceAt(offsets_[static_cast<size_t>(i)] + offset, cursor);
}

Place CsvFile::PlaceOf(int64_t i, size_t offset) const {
  Cursor cursor;
  return PlaceOf(i, offset, cursor);
}

Place CsvFile::PlaceInHeader(size_t offset) const {
  Cursor cursor;
  return PlaceAt(header_at_ + offset, cursor);
}

}  // namespace tpuest::data
