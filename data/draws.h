#pragma once
// A sequence of random numbers. Each is a pure function of the key and of the number of earlier
// draws, so an additional draw changes all later numbers, and every run that uses them.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/random.h"

namespace tpuest::data {

class Draws {
 public:
  // The words of Philox(key, step, i) for i = first, first + 1, ...
  Draws(RandomKey key, uint64_t step, uint64_t first = 0) : key_(key), step_(step), next_(first) {}

  uint32_t Word() {
    if (lane_ == words_.size()) {
      words_ = Philox(key_, step_, next_++);
      lane_ = 0;
    }
    return words_[lane_++];
  }
  // Uniform in [0, 1).
  float Uniform() { return UniformFloat(Word()); }
  // Uniform in [low, high).
  float Between(float low, float high) { return low + (high - low) * Uniform(); }
  // A number around 0, at most `reach` away; numbers near 0 are more likely.
  float Around(float reach) {
    const float a = Uniform();
    const float b = Uniform();
    return reach * (a + b - 1);
  }
  // Uniform in 0..count-1, with a bias below count / 2^32.
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(uint64_t{Word()} * static_cast<uint64_t>(count) >> 32U);
  }

 private:
  RandomKey key_;
  uint64_t step_;
  uint64_t next_;
  std::array<uint32_t, 4> words_{};
  size_t lane_ = 4;
};

}  // namespace tpuest::data
