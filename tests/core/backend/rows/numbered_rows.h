#pragma once
// Tables of numbers, for tests.

#include <algorithm>
#include <vector>

#include "core/backend/rows/row_table.h"

namespace tpuest {

// Each weight is the number of its element, and each slot a tenth of it.
inline std::vector<RowVariable> Numbered() {
  const RowDraw weights = [](std::span<const uint64_t> firsts, int64_t n, float* to) {
    for (const uint64_t first : firsts) {
      for (uint64_t i = first; i < first + static_cast<uint64_t>(n); ++i) {
        *to++ = static_cast<float>(i);
      }
    }
  };
  const RowDraw slot = [](std::span<const uint64_t> firsts, int64_t n, float* to) {
    std::fill_n(to, static_cast<int64_t>(firsts.size()) * n, .1F);
  };
  return {{"t", weights}, {"t/Adagrad", slot}};
}

inline constexpr RowLayout kLayouts[] = {RowLayout::kArray, RowLayout::kIndex};

}  // namespace tpuest
