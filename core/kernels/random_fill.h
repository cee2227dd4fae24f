#pragma once
// Slices of random tensors: element i is a pure function of (key, step, i), whatever other elements
// are drawn. core/ops/random.h describes which words an element uses.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/random.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// The elements first .. first + n - 1 of a tensor.
struct RandomSlice {
  RandomKey key;
  uint64_t step = 0;
  uint64_t first = 0;
  size_t n = 0;
};

// Several slices of n elements each, starting at `firsts`, which are written one after the other.
struct RandomSlices {
  RandomKey key;
  uint64_t step = 0;
  std::span<const uint64_t> firsts;
  size_t n = 0;
};

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

using RandomKernel = void (*)(const RandomSlices& slices, void* out);

// For bfloat16, float or double; nullptr for other dtypes.
[[nodiscard]] RandomKernel FindRandom(Distribution distribution, DType dtype);

// minval + (64 bits modulo maxval - minval); minval < maxval.
void RandomIntegers(const RandomSlice& slice, int64_t minval, int64_t maxval, int32_t* out);
void RandomIntegers(const RandomSlice& slice, int64_t minval, int64_t maxval, int64_t* out);

}  // namespace tpuest
