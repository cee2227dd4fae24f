#pragma once
// Verifies all of a TFRecord file. Continues after damage with the next intact record.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest {

struct DamagedRecord {
  // From 0, as in RecordReader; the records that a damaged length hides count as one.
  int64_t index = 0;
  uint64_t offset = 0;  // start of its header, in inflated bytes
  std::string why;      // "is damaged (crc 8a9136aa, stored 46dd794e)"
};

struct RecordCheck {
  int64_t records = 0;  // intact records
  uint64_t bytes = 0;   // bytes of their data
  std::vector<DamagedRecord> damaged;
};

// Inflates compressed files; if inflating fails, the rest of the file is one damaged record. Throws
// Error kData if the file cannot be read.
[[nodiscard]] RecordCheck CheckRecords(const std::string& path);

}  // namespace tpuest
