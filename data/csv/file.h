#pragma once
// A CSV file whose records can be read in any order. The start of each record is found once and
// takes four bytes; record bytes are fetched on demand, so they take no memory. Small files,
// compressed files and pipes are kept whole in memory.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "data/csv/record.h"

namespace tpuest::data {

// Ascending byte positions whose neighbours are less than kMostRecordBytes apart. 64 positions
// share one base, so each is stored as a 32-bit difference.
class RecordOffsets {
 public:
  void Append(uint64_t offset);
  [[nodiscard]] uint64_t operator[](size_t i) const {
    const Block& block = blocks_[i / kBlock];
    return block.base + block.offsets[i % kBlock];
  }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  static constexpr size_t kBlock = 64;
  struct Block {
    uint64_t base = 0;
    std::array<uint32_t, kBlock> offsets = {};
  };
  std::deque<Block> blocks_;
  size_t size_ = 0;
};

// A record of this many bytes or more is an error: the offsets of 64 shorter ones fit in 32 bits
// (RecordOffsets).
inline constexpr size_t kMostRecordBytes = size_t{1} << 25;

class CsvFile {
 public:
  struct Options {
    CsvDialect dialect;
    bool header = true;
    std::optional<std::string> compression_type;  // nullopt and "": none
    uint64_t kept_bytes = uint64_t{1} << 20;      // a plain file up to this size is kept in memory
  };
  // The bytes of a file that a thread has fetched; one per thread.
  struct Window {
    const CsvFile* file = nullptr;
    uint64_t begin = 0;
    std::string bytes;
  };

  // Reads the whole file once to find the records. "-" is the standard input. Throws kData for an
  // unreadable file, for a compression other than the options', and for a record that is too long.
  CsvFile(std::string path, const Options& options);
  ~CsvFile();
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // The bytes of the header record; nullopt if the file is empty or the options name no header.
  [[nodiscard]] const std::optional<std::string>& header() const { return header_; }
  // Records after the header.
  [[nodiscard]] int64_t records() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  // Record i without its line end. The view is valid until the window's next use. Any thread. Reads
  // ahead up to record i + records_after if records_after is not negative. Throws kData if the file
  // has become shorter.
  [[nodiscard]] std::string_view Record(int64_t i, Window& window,
                                        int64_t records_after = -1) const;
  // A byte whose line is known, from which line counting continues.
  struct Cursor {
    uint64_t position = 0;
    char before = '\0';
    int line = 1;
    int column = 1;
  };
  // The line of a byte of record i, from 1, and its column in characters, from 1. Reads the file
  // from its start, or from a cursor that lies before the byte; the cursor moves there.
  [[nodiscard]] Place PlaceOf(int64_t i, size_t offset) const;
  [[nodiscard]] Place PlaceOf(int64_t i, size_t offset, Cursor& cursor) const;
  [[nodiscard]] Place PlaceInHeader(size_t offset) const;

 private:
  void Open(const Options& options);
  void Index(const Options& options);
  [[nodiscard]] Place PlaceAt(uint64_t position, Cursor& cursor) const;
  [[nodiscard]] size_t AheadFrom(int64_t i, int64_t records_after) const;
  // Reads bytes [begin, begin + size), fewer at the end of the file, into `to`.
  void Fetch(uint64_t begin, size_t size, std::string& to) const;

  std::string path_;
  int fd_ = -1;         // a plain file that is not in memory
  std::string memory_;  // all bytes of any other file
  uint64_t size_ = 0;
  uint64_t header_at_ = 0;
  std::optional<std::string> header_;
  RecordOffsets offsets_;  // where each record begins, and the end
};

}  // namespace tpuest::data
