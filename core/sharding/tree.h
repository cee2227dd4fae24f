#pragma once
// Sums over replicas use one fixed binary tree: neighbours first, (0+1) and (2+3), then pairs of
// these sums; an unpaired sum moves up a level unchanged. So the bits do not depend on which
// process computes which part, and hosts that hold aligned subtrees can add theirs locally.

#include <span>
#include <type_traits>
#include <vector>

namespace tpuest {

// values[i] belongs to replica i; returns 0 if there are no values.
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
