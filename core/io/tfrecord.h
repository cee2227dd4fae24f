#pragma once
// TFRecord files (TensorFlow's lib/io/record_writer.h). A record is its length (uint64), the masked
// CRC-32C of the length, the bytes, and their masked CRC-32C. A whole file may be compressed by
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

// Bytes of a record's header and trailer.
inline constexpr uint64_t kRecordHeaderBytes = 12;
inline constexpr uint64_t kRecordFooterBytes = 4;

// Appends one framed record to `out`.
void AppendRecord(std::string& out, std::string_view record);

// Writes a file. Close gives the file its name; without Close no file is left.
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
  uint64_t offset = 0;  // start of its header, in inflated bytes
  int64_t index = 0;    // in its file, from 0
};

// Reads a file, compressed or not, from its start and verifies every checksum.
class RecordReader {
 public:
  // Detects the compression from the first bytes. "-" is the standard input.
  explicit RecordReader(std::string path);
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;

  // Reads the next record; returns false at the end. The record's view is valid as long as the
  // reader if bytes_stay(), otherwise until the next call.
  [[nodiscard]] bool Next(Record& record);
  // True for an uncompressed regular file: views point into its mapping.
  [[nodiscard]] bool bytes_stay() const;
  [[nodiscard]] const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Random access to an uncompressed file; views are valid as long as this object. Reading from
// several threads is safe.
class RecordFile {
 public:
  explicit RecordFile(std::string path);
  // The offsets of the records' headers, in order. Verifies lengths and their checksums, not the
  // data.
  [[nodiscard]] std::vector<uint64_t> Offsets() const;
  // Reads the record at an offset and verifies both checksums. `index` is its number in errors and
  // in the result.
  [[nodiscard]] Record ReadRecordAt(uint64_t offset, int64_t index) const;
  [[nodiscard]] uint64_t size() const { return file_.bytes().size(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  MappedFile file_;
};

// The file's bytes, inflated if they are compressed. "-" is the standard input.
[[nodiscard]] std::unique_ptr<ByteStream> OpenRecordStream(const std::string& path);

// True if the file may be a TFRecord file: it is empty, compressed, or begins with a header whose
// checksum is right.
[[nodiscard]] bool BeginsAsRecords(const std::string& path);

// The compression of the file's bytes, which decides between RecordFile and RecordReader. A file
// whose first 12 bytes are a valid header of a record is uncompressed, even if they look
// compressed.
[[nodiscard]] Compression RecordCompression(const std::string& path);

}  // namespace tpuest
