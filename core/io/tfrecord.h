#pragma once
// TFRecord files (TensorFlow's lib/io/record_writer.h): a record is its length (uint64), the masked
// CRC-32C of that length, the bytes, and their masked CRC-32C; files may be compressed whole, as
// GZIP or ZLIB. Errors are of Code::kData and say "train-00003.tfrecord: record 412 at byte 1048576
// is damaged (crc 8a9136aa, stored 46dd794e)".

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/files.h"
#include "core/io/byte_stream.h"

namespace tpuest {

// Bytes that frame a record.
inline constexpr uint64_t kRecordHeaderBytes = 12;
inline constexpr uint64_t kRecordFooterBytes = 4;

// Appends one framed record to `out`.
void AppendRecord(std::string& out, std::string_view record);

// Writes a file that appears under its name when Close returns, and not at all without Close.
class RecordWriter {
 public:
  explicit RecordWriter(const std::string& path, Compression compression = Compression::kNone,
                        bool fsync = true);
  ~RecordWriter();
  void Write(std::string_view record);
  void Close();

 private:
  class Deflater;
  void Flush(bool last);
  AtomicFile file_;
  std::string buffer_;
  std::unique_ptr<Deflater> deflater_;
};

struct Record {
  std::string_view bytes;
  uint64_t offset = 0;  // where its header starts, counted in inflated bytes
  int64_t index = 0;    // in its file, from 0
};

// Walks a file, compressed or not, from its start; every checksum is verified.
class RecordReader {
 public:
  // Compression is found from the first bytes. "-" is the standard input.
  explicit RecordReader(std::string path);
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;

  // The next record; false at the end. Its view is valid as long as the reader if bytes_stay(),
  // otherwise until the next call.
  [[nodiscard]] bool Next(Record& record);
  // True for an uncompressed regular file: views point into its mapping.
  [[nodiscard]] bool bytes_stay() const;
  [[nodiscard]] const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An uncompressed file under random access; views live as long as it. Reading from several threads
// is safe.
class RecordFile {
 public:
  explicit RecordFile(std::string path);
  // The bytes at which the records' headers start, in order. Verifies lengths and their checksums,
  // not the data.
  [[nodiscard]] std::vector<uint64_t> Offsets() const;
  // The record at an offset, both checksums verified. `index` numbers it in errors and in the
  // result.
  [[nodiscard]] Record ReadRecordAt(uint64_t offset, int64_t index) const;
  [[nodiscard]] uint64_t size() const { return file_.bytes().size(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  MappedFile file_;
};

// The file's bytes, inflated where they are compressed. "-" is the standard input.
[[nodiscard]] std::unique_ptr<ByteStream> OpenRecordStream(const std::string& path);

// True if the file begins as TFRecords do: empty, compressed, or with a header whose checksum is
// right.
[[nodiscard]] bool BeginsAsRecords(const std::string& path);

// The compression of the file's bytes, which decides between RecordFile and RecordReader. A file
// whose first 12 bytes verify as a record's header has none, whatever they look like.
[[nodiscard]] Compression RecordCompression(const std::string& path);

}  // namespace tpuest
