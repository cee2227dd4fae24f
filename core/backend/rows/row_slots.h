#pragma once
// Open addressing by row numbers: a slot holds the index of a row + 1, or 0 if it is free. The
// number of slots is a power of two, and at least one slot is free.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpuest {

// The slot at which the search for a row begins. Fibonacci hashing: the high bits of the product
// depend on all bits of the row number.
inline size_t HomeSlot(int64_t row, size_t slots) {
  return (static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ULL) >> (64 - std::countr_zero(slots));
}

// The slot of a row, or the free slot where it would go. `row_at(place)` returns the row at a
// place.
template <class RowAt>
size_t FindSlot(int64_t row, const std::vector<uint32_t>& slots, const RowAt& row_at) {
  const size_t mask = slots.size() - 1;
  size_t slot = HomeSlot(row, slots.size());
  while (slots[slot] != 0 && row_at(slots[slot] - 1) != row) slot = (slot + 1) & mask;
  return slot;
}

}  // namespace tpuest
