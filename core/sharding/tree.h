#pragma once
// Sums over replicas run in one fixed binary tree: neighbours first, (0+1) and (2+3), then pairs of
// these; an odd one at the end of a level goes up unchanged. So the bits do not depend on who
// computes which part, and hosts that hold aligned subtrees add theirs alone.

#include <span>
#include <type_traits>
#include <vector>

namespace tpuest {

// values[i] is replica i's; 0 if there are none.
template <class T>
[[nodiscard]] T TreeSum(std::span<const T> values) {
  static_assert(std::is_floating_point_v<T>);
  std::vector<T> level(values.begin(), values.end());
  while (level.size() > 1) {
    size_t out = 0;
    for (size_t i = 0; i < level.size(); i += 2) {
      level[out++] = i + 1 < level.size() ? level[i] + level[i + 1] : level[i];
    }
    level.resize(out);
  }
  return level.empty() ? T{0} : level.front();
}

template <class T>
[[nodiscard]] T TreeMean(std::span<const T> values) {
  return TreeSum(values) / static_cast<T>(values.size());
}

}  // namespace tpuest
