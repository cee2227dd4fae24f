#pragma once
// Compares lists of numbers, with a message that shows the found numbers.

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace tpuest::nn {

// True if each element is within `tolerance`, relative to the expected element, or absolute if that
// is below 1.
inline bool Near(const std::vector<float>& found, const std::vector<double>& expected,
                 double tolerance = 1e-6) {
  bool same = found.size() == expected.size();
  for (size_t i = 0; same && i < found.size(); ++i) {
    const double allowed = tolerance * std::max(1.0, std::abs(expected[i]));
    same = std::abs(found[i] - expected[i]) <= allowed;
  }
  if (!same) {
    for (const float value : found) MESSAGE("found " << value);
  }
  return same;
}

}  // namespace tpuest::nn
