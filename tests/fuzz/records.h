#pragma once
// Corrects the checksums of a TFRecord file, as far as its lengths are valid.

#include <cstring>
#include <string>
#include <string_view>

#include "core/io/crc32c.h"
#include "core/io/tfrecord.h"
#include "core/io/wire.h"

namespace tpuest::fuzz {

inline void PutChecksum(std::string& bytes, size_t begin, size_t size) {
  const uint32_t crc = MaskCrc(Crc32c({bytes.data() + begin, size}));
  std::memcpy(bytes.data() + begin + size, &crc, sizeof crc);
}

[[nodiscard]] inline std::string WithRightChecksums(std::string_view records) {
  std::string bytes(records);
  size_t at = 0;
  while (bytes.size() - at >= kRecordHeaderBytes) {
    PutChecksum(bytes, at, 8);
    const auto length = LoadLittle<uint64_t>(bytes.data() + at);
    const size_t left = bytes.size() - at - kRecordHeaderBytes;
    if (left < kRecordFooterBytes || length > left - kRecordFooterBytes) break;
    PutChecksum(bytes, at + kRecordHeaderBytes, length);
    at += kRecordHeaderBytes + length + kRecordFooterBytes;
  }
  return bytes;
}

}  // namespace tpuest::fuzz
