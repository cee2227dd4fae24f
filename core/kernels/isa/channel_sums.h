#pragma once
// Sums over the rows of a matrix [rows, channels], all channels at once.

#include <algorithm>
#include <cstdint>

namespace tpuest {

// Calls store(k, c, sum) for every k < kSums and channel c, where sum is the sum over r of the k-th
// number that value(r * channels + c, c, out) writes to `out`. A is float or double: adds runs of
// 16 rows in A and the runs in double, always in the same order.
template <int kSums, class A, class Value, class Store>
void ChannelSums(int64_t rows, int64_t channels, Value&& value, Store&& store) {
  constexpr int64_t kChannels = 64;
  constexpr int64_t kRun = 16;
  for (int64_t first = 0; first < channels; first += kChannels) {
    const int64_t n = std::min(kChannels, channels - first);
    double total[kSums][kChannels] = {};
    for (int64_t begin = 0; begin < rows; begin += kRun) {
      A run[kSums][kChannels] = {};
      const int64_t end = std::min(rows, begin + kRun);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = 0; c < n; ++c) {
          A out[kSums];
          value(r * channels + first + c, first + c, out);
          for (int k = 0; k < kSums; ++k) run[k][c] += out[k];
        }
      }
      for (int k = 0; k < kSums; ++k) {
        for (int64_t c = 0; c < n; ++c) total[k][c] += static_cast<double>(run[k][c]);
      }
    }
    for (int k = 0; k < kSums; ++k) {
      for (int64_t c = 0; c < n; ++c) store(k, first + c, static_cast<A>(total[k][c]));
    }
  }
}

}  // namespace tpuest
