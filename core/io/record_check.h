#pragma once
// Verifies a TFRecord file to its end: past damage to the next record that is whole.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest {

struct DamagedRecord {
  int64_t index = 0;    // from 0, as RecordReader counts; what a damaged length hides counts as one
  uint64_t offset = 0;  // where its header starts, counted in inflated bytes
  std::string why;      // "is damaged (crc 8a9136aa, stored 46dd794e)"
};

struct RecordCheck {
  int64_t records = 0;  // that are whole
  uint64_t bytes = 0;   // of their data
  std::vector<DamagedRecord> damaged;
};

// Compressed files are inflated; where that is not possible any more the rest is one damaged
// record. Error kData if the file cannot be read.
[[nodiscard]] RecordCheck CheckRecords(const std::string& path);

}  // namespace tpuest
