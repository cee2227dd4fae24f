#pragma once
// Rows of tables lie anywhere, and the next ones are known: they are fetched before they are read.

#include <algorithm>
#include <cstdint>

namespace tpuest {

inline constexpr int64_t kRowsAhead = 16;

// Prefetches a row of `bytes` bytes into the cache. Only the first 512 bytes of a long row: the
// processor itself detects the rest of the sequence.
inline void PrefetchRow(const void* row, int64_t bytes) {
  constexpr int64_t kCacheLine = 64;
  constexpr int64_t kMost = 512;
  const auto* const at = static_cast<const char*>(row);
  const int64_t end = std::min(bytes, kMost);
  for (int64_t line = 0; line < end; line += kCacheLine) __builtin_prefetch(at + line);
}

}  // namespace tpuest
