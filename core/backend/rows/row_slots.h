#pragma once
// Open addressing by the numbers of rows: a slot holds the place of a row + 1, or 0. There are a
// power of two of them, of which some are free.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpuest {

// Where a row is looked for first. Fibonacci hashing: the high bits of the product depend on all of
// the number's.
inline size_t HomeSlot(int64_t row, size_t slots) {
  return (static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ULL) >> (64 - std::countr_zero(slots));
}

// The slot of a row, or the free one where it would go. `row_at(place)`: the row that is there.
template <class RowAt>
size_t FindSlot(int64_t row, const std::vector<uint32_t>& slots, const RowAt& row_at) {
  const size_t mask = slots.size() - 1;
  size_t slot = HomeSlot(row, slots.size());
  while (slots[slot] != 0 && row_at(slots[slot] - 1) != row) slot = (slot + 1) & mask;
  return slot;
}

}  // namespace tpuest
