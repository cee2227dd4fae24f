#pragma once
// Finds the distinct numbers of a list, for ops that count, sum or deduplicate by them.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

// The slots of an open-addressing table: a power of two, at most half of them used.
[[nodiscard]] inline int64_t UniqueTableSlots(int64_t numbers) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(numbers, 1)))) *
         2;
}
[[nodiscard]] inline size_t UniqueTableBytes(int64_t numbers) {
  return static_cast<size_t>(UniqueTableSlots(numbers)) * sizeof(int32_t);
}

// y [n]: each number of x [n] once, in the order of first occurrence, then -1; idx [n]: the
// position in y of each element of x. `table` has UniqueTableBytes(n). Fibonacci hashing: the high
// bits of the product depend on all bits of the number.
template <class T, class Index>
void FindUnique(const T* x, int64_t n, T* y, Index* idx, int32_t* table) {
  const auto slots = static_cast<uint64_t>(UniqueTableSlots(n));
  const int bits = std::countr_zero(slots);
  const uint64_t mask = slots - 1;
  std::fill_n(table, slots, -1);
  int32_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T number = x[i];
    uint64_t slot = (static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15ULL) >> (64 - bits);
    while (table[slot] >= 0 && y[table[slot]] != number) slot = (slot + 1) & mask;
    if (table[slot] < 0) {
      table[slot] = count;
      y[count++] = number;
    }
    idx[i] = static_cast<Index>(table[slot]);
  }
  std::fill(y + count, y + n, T(-1));
}

// The same in StableHLO.
struct HloUnique {
  HloValue numbers;  // y, of x's dtype
  HloValue places;   // idx, int32
};
[[nodiscard]] HloUnique UniqueNumbers(HloBuilder& hlo, const HloValue& x);

}  // namespace tpuest::ops
