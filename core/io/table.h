#pragma once
// Sorted string tables as LevelDB (its doc/table_format.md) and TensorFlow write them: blocks of
// prefix-compressed entries, each followed by its compression (1 byte) and masked CRC-32C (4), an
// index of the blocks, and a footer of 48 bytes that ends in the magic number 0xdb4775248b80fb57.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

struct TableEntry {
  std::string key;
  std::string value;
  bool operator==(const TableEntry&) const = default;
};

// TensorFlow's defaults. A block ends when it has at least block_size bytes; every restart_interval
// entries a key is written whole.
struct TableOptions {
  size_t block_size = 262144;
  int restart_interval = 16;
  bool snappy = false;
};

// Builds a table in memory.
class TableBuilder {
 public:
  explicit TableBuilder(TableOptions options = {});
  // Keys must ascend strictly, byte by byte.
  void Add(std::string_view key, std::string_view value);
  // Returns the table's bytes; call once.
  [[nodiscard]] std::string Finish();

 private:
  // A block that is being filled.
  struct Block {
    std::string bytes;
    std::vector<uint32_t> restarts = {0};
    std::string last_key;
    int since_restart = 0;
    void Add(std::string_view key, std::string_view value, int restart_interval);
    [[nodiscard]] std::string Finish() const;
  };
  void EndBlock();
  // Appends a finished block with its trailer and returns its encoded handle.
  [[nodiscard]] std::string AppendBlock(const std::string& contents);

  TableOptions options_;
  std::string bytes_;
  Block data_;
  Block index_;
  std::string last_key_;
  std::string pending_handle_;  // of the last block, until the next key gives its separator
};

// Returns all entries of a table in order, after verifying every checksum. `file` names the table
// in errors, which are of Code::kCheckpoint.
[[nodiscard]] std::vector<TableEntry> ReadTable(const std::string& file, std::string_view bytes);

}  // namespace tpuest
