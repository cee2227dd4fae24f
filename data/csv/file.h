#pragma once
// A CSV file whose records can be read in any order: where each begins is found once, at four bytes
// a record, and bytes are fetched as they are asked for, so that the memory does not grow with the
// file. Small and compressed files and pipes are kept in memory whole.

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

// Ascending positions in bytes, of which neighbours are less than kMostRecordBytes apart: 64 of
// them share one base, so each is a difference of 32 bits.
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

// A record of so many bytes or more is a fault: 64 shorter ones fit in 32 bits (RecordOffsets).
inline constexpr size_t kMostRecordBytes = size_t{1} << 25;

class CsvFile {
 public:
  struct Options {
    CsvDialect dialect;
    bool header = true;
    std::optional<std::string> compression_type;  // nullopt and "": none
    uint64_t kept_bytes = uint64_t{1} << 20;      // a plain file up to this size is kept in memory
  };
  // Bytes of a file that a thread has fetched; each thread has its own.
  struct Window {
    const CsvFile* file = nullptr;
    uint64_t begin = 0;
    std::string bytes;
  };

  // Finds the records; reads the whole file once. "-" is the standard input. Throws Error kData for
  // what cannot be read, for a file that is compressed otherwise than `options` say, and for a
  // record that is too long.
  CsvFile(std::string path, const Options& options);
  ~CsvFile();
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // The first record's bytes, where the file has a header; nullopt in an empty file.
  [[nodiscard]] const std::optional<std::string>& header() const { return header_; }
  // Records after the header.
  [[nodiscard]] int64_t records() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  // Record i without its line end. The view is valid until the window's next use. Any thread.
  // What is read ahead ends with record i + records_after, where that is not negative. Throws Error
  // kData for a file that has become shorter.
  [[nodiscard]] std::string_view Record(int64_t i, Window& window,
                                        int64_t records_after = -1) const;
  // A byte whose place is known: where counting lines goes on from.
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
  // Reads bytes [begin, begin + size), less at the end of the file, into `to`.
  void Fetch(uint64_t begin, size_t size, std::string& to) const;

  std::string path_;
  int fd_ = -1;         // a plain file that is not kept
  std::string memory_;  // all bytes of any other
  uint64_t size_ = 0;
  uint64_t header_at_ = 0;
  std::optional<std::string> header_;
  RecordOffsets offsets_;  // where each record begins, and the end
};

}  // namespace tpuest::data
