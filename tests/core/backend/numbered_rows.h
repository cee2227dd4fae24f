#pragma once
// Tables of numbers, for tests.

#include <algorithm>
#include <vector>

#include "core/backend/row_table.h"

namespace tpuest {

// Weights are the numbers of their elements, slots a tenth.
inline std::vector<RowVariable> Numbered() {
  const RowDraw weights = [](uint64_t first, int64_t n, float* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(first + static_cast<uint64_t>(i));
  };
  const RowDraw slot = [](uint64_t /*first*/, int64_t n, float* to) { std::fill_n(to, n, .1F); };
  return {{"t", weights}, {"t/Adagrad", slot}};
}

inline constexpr RowLayout kLayouts[] = {RowLayout::kArray, RowLayout::kIndex};

}  // namespace tpuest
