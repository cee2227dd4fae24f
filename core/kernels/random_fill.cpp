#include "core/kernels/random_fill.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/tensor/tensor.h"

namespace tpuest {
namespace {

// The two words of element i where elements take two: half of the counter i / 2.
struct Pair {
  uint32_t low, high;
};

Pair PairOf(const std::array<uint32_t, 4>& words, uint64_t element) {
  return element % 2 == 0 ? Pair{words[0], words[1]} : Pair{words[2], words[3]};
}

// Calls fn(i, pair of element first + i) with one draw for every two elements.
template <class Fn>
void ForEachPair(const RandomSlice& slice, Fn&& fn) {
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < slice.n; ++i) {
    const uint64_t element = slice.first + i;
    if (i == 0 || element % 2 == 0) words = Philox(slice.key, slice.step, element / 2);
    fn(i, PairOf(words, element));
  }
}

uint64_t Bits64(Pair pair) { return (static_cast<uint64_t>(pair.high) << 32) | pair.low; }

// Box and Muller 1958; the first uniform is in (0, 1], so that its logarithm is finite.
double Normal(Pair pair) {
  const double u = (static_cast<double>(pair.low) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(pair.high) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

template <class T>
void FillUniform(const RandomSlice& slice, void* out_raw) {
  T* const out = static_cast<T*>(out_raw);
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < slice.n; ++i) {
    const uint64_t element = slice.first + i;
    if (i == 0 || element % 4 == 0) words = Philox(slice.key, slice.step, element / 4);
    const uint32_t word = words[element % 4];
    if constexpr (std::is_same_v<T, bfloat16>) {
      // 7 bits, as many as the mantissa has: rounding 23 of them could give 1.
      out[i] = bfloat16(static_cast<float>(word >> 25) * 0x1p-7F);
    } else {
      out[i] = UniformFloat(word);
    }
  }
}

void FillUniformDouble(const RandomSlice& slice, void* out_raw) {
  double* const out = static_cast<double*>(out_raw);
  ForEachPair(slice, [out](size_t i, Pair pair) {
    out[i] = static_cast<double>(Bits64(pair) >> 12) * 0x1p-52;
  });
}

template <class T>
void FillNormal(const RandomSlice& slice, void* out_raw) {
  T* const out = static_cast<T*>(out_raw);
  ForEachPair(slice, [out](size_t i, Pair pair) { out[i] = ConvertTo<T>(Normal(pair)); });
}

template <class T>
void FillTruncated(const RandomSlice& slice, void* out_raw) {
  T* const out = static_cast<T*>(out_raw);
  ForEachPair(slice, [&](size_t i, Pair pair) {
    double value = Normal(pair);
    const uint64_t element = slice.first + i;
    for (uint64_t attempt = 1; std::abs(value) > 2.0; ++attempt) {
      const uint64_t step = slice.step + (attempt << 56);
      value = Normal(PairOf(Philox(slice.key, step, element / 2), element));
    }
    out[i] = ConvertTo<T>(value);
  });
}

template <class T>
void FillIntegers(const RandomSlice& slice, int64_t minval, int64_t maxval, T* out) {
  const uint64_t range = static_cast<uint64_t>(maxval) - static_cast<uint64_t>(minval);
  ForEachPair(slice, [&](size_t i, Pair pair) {
    out[i] = static_cast<T>(static_cast<uint64_t>(minval) + Bits64(pair) % range);
  });
}

template <class T>
RandomKernel FindNormal(Distribution distribution) {
  return distribution == Distribution::kNormal ? FillNormal<T> : FillTruncated<T>;
}

}  // namespace

RandomKernel FindRandom(Distribution distribution, DType dtype) {
  const bool uniform = distribution == Distribution::kUniform;
  switch (dtype) {
    case DType::kFloat:
      return uniform ? FillUniform<float> : FindNormal<float>(distribution);
    case DType::kDouble:
      return uniform ? FillUniformDouble : FindNormal<double>(distribution);
    case DType::kBfloat16:
      return uniform ? FillUniform<bfloat16> : FindNormal<bfloat16>(distribution);
    default:
      return nullptr;
  }
}

void RandomIntegers(const RandomSlice& slice, int64_t minval, int64_t maxval, int32_t* out) {
  FillIntegers(slice, minval, maxval, out);
}
void RandomIntegers(const RandomSlice& slice, int64_t minval, int64_t maxval, int64_t* out) {
  FillIntegers(slice, minval, maxval, out);
}

}  // namespace tpuest
