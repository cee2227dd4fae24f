#include "core/kernels/random_fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {
namespace {

// The two words of element i if elements take two words: half of the counter i / 2.
struct Pair {
  uint32_t low, high;
};

Pair PairOf(const std::array<uint32_t, 4>& words, uint64_t element) {
  return element % 2 == 0 ? Pair{words[0], words[1]} : Pair{words[2], words[3]};
}

// Calls fn(i, pair of element first + i); draws once for every two elements.
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

// ---- Normal numbers by Box and Muller 1958. The first uniform number is in (0, 1], so that its
// logarithm is finite. Logarithm and cosine use fdlibm's formulas (Sun Microsystems 1993) with an
// error below one unit in the last place and without a branch. So compilers vectorise the loop, and
// the bits are the same on all processors and with all mathematical libraries.

// Converts an integer below 2^52 exactly.
[[gnu::always_inline]] inline double Exact(uint64_t integer) {
  return std::bit_cast<double>(0x4330000000000000ULL | integer) - 0x1p52;
}

// log(n 2^-32), for n of 1 to 2^32.
[[gnu::always_inline]] inline double LogOfWord(double n) {
  constexpr uint64_t kRoot = 0x3FE6A09E00000000ULL;  // the bits of about sqrt(1/2)
  const uint64_t bits = std::bit_cast<uint64_t>(n) + (0x3FF0000000000000ULL - kRoot);
  const double exponent = Exact(bits >> 52) - (1023 + 32);
  const double f = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) + kRoot) - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  const double low = exponent * 1.90821492927058770002e-10;
  return exponent * 6.93147180369123816490e-01 - ((half - (s * (half + (even + odd)) + low)) - f);
}

// cos(2 pi word 2^-32): the sine or the cosine of the angle's distance to the nearest quarter turn.
[[gnu::always_inline]] inline double CosOfWord(uint64_t word) {
  const double angle = 2.0 * std::numbers::pi * (Exact(word) * 0x1p-32);
  const uint64_t quarters = (word + (uint64_t{1} << 29)) >> 30;  // 0 to 4
  const double turned = angle - Exact(quarters) * 1.57079632673412561417e+00;
  const double more = Exact(quarters) * 6.07710050650619224932e-11;
  const double x = turned - more;
  const double rest = (turned - x) - more;
  const double z = x * x;
  const double s = 8.33333333332248946124e-03 +
                   z * (-1.98412698298579493134e-04 +
                        z * (2.75573137070700676789e-06 +
                             z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  const double cube = z * x;
  const double sine =
      x - ((z * (0.5 * rest - cube * s) - rest) + cube * 1.66666666666666324348e-01);
  const double c =
      4.16666666666666019037e-02 +
      z * (-1.38888888888741095749e-03 +
           z * (2.48015872894767294178e-05 +
                z * (-2.75573143513906633035e-07 +
                     z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))));
  const double half = 0.5 * z;
  const double w = 1 - half;
  const double cosine = w + (((1 - w) - half) + (z * (z * c) - x * rest));
  const uint64_t is_odd = 0 - (quarters & 1);
  const uint64_t bits =
      (std::bit_cast<uint64_t>(sine) & is_odd) | (std::bit_cast<uint64_t>(cosine) & ~is_odd);
  return std::bit_cast<double>(bits ^ (((quarters + 1) & 2) << 62));
}

[[gnu::always_inline]] inline double Normal(uint32_t low, uint32_t high) {
  return std::sqrt(-2.0 * LogOfWord(Exact(low) + 1.0)) * CosOfWord(high);
}

// Draws the normal numbers of several pairs of elements at once.
class NormalBlock {
 public:
  // A draw for elements 2 counter and 2 counter + 1, the `attempt`-th one, and where to store their
  // numbers; -1 drops a number.
  struct Pairs {
    uint64_t counter;
    uint64_t attempt;
    int64_t places[2];
  };

  NormalBlock(RandomKey key, uint64_t step) : key_(MixedKey(key)), step_(step) {}

  [[nodiscard]] bool full() const { return count_ == kMost; }
  void Add(const Pairs& pairs) {
    const uint64_t step = step_ + (pairs.attempt << 56);
    a_[count_] = static_cast<uint32_t>(pairs.counter);
    b_[count_] = static_cast<uint32_t>(pairs.counter >> 32);
    c_[count_] = static_cast<uint32_t>(step);
    d_[count_] = static_cast<uint32_t>(step >> 32);
    pairs_[count_++] = pairs;
  }

  // Calls fn(pair, element of the pair, number) for each number that is stored, and empties the
  // block.
  template <class Fn>
  void Draw(Fn&& fn) {
    double normals[2][kMost];
    if (count_ <= kFew) {
      Draw<kFew>(normals);
    } else {
      Draw<kMost>(normals);
    }
    for (int i = 0; i < count_; ++i) {
      if (pairs_[i].places[0] >= 0) fn(pairs_[i], 0, normals[0][i]);
      if (pairs_[i].places[1] >= 0) fn(pairs_[i], 1, normals[1][i]);
    }
    count_ = 0;
  }

 private:
  static constexpr int kMost = 32;
  static constexpr int kFew = 8;

  // Computes Philox as in core/base/random.h for all counters at once, and the two numbers of each.
  template <int n>
  void Draw(double (&normals)[2][kMost]) {
    auto low = static_cast<uint32_t>(key_);
    auto high = static_cast<uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < n; ++i) {
        const uint64_t of_a = uint64_t{0xD2511F53} * a_[i];
        const uint64_t of_c = uint64_t{0xCD9E8D57} * c_[i];
        a_[i] = static_cast<uint32_t>(of_c >> 32) ^ b_[i] ^ low;
        b_[i] = static_cast<uint32_t>(of_c);
        c_[i] = static_cast<uint32_t>(of_a >> 32) ^ d_[i] ^ high;
        d_[i] = static_cast<uint32_t>(of_a);
      }
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
    for (int i = 0; i < n; ++i) normals[0][i] = Normal(a_[i], b_[i]);
    for (int i = 0; i < n; ++i) normals[1][i] = Normal(c_[i], d_[i]);
  }

  const uint64_t key_;
  const uint64_t step_;
  int count_ = 0;
  uint32_t a_[kMost] = {};
  uint32_t b_[kMost] = {};
  uint32_t c_[kMost] = {};
  uint32_t d_[kMost] = {};
  Pairs pairs_[kMost] = {};
};

// Calls fn(place, number) for each place to fill, in any order; draws numbers beyond `most` again
// with the next attempt.
template <class Fn>
void ForEachNormal(const RandomSlices& slices, double most, Fn&& fn) {
  NormalBlock block(slices.key, slices.step);
  std::vector<NormalBlock::Pairs> refused;
  const auto draw = [&] {
    block.Draw([&](const NormalBlock::Pairs& pairs, int half, double number) {
      if (std::abs(number) <= most) return fn(pairs.places[half], number);
      NormalBlock::Pairs once_more{pairs.counter, pairs.attempt + 1, {-1, -1}};
      once_more.places[half] = pairs.places[half];
      refused.push_back(once_more);
    });
  };
  const auto add = [&](const NormalBlock::Pairs& pairs) {
    block.Add(pairs);
    if (block.full()) draw();
  };
  int64_t place = 0;
  for (const uint64_t first : slices.firsts) {
    const uint64_t end = first + slices.n;
    for (uint64_t element = first - first % 2; element < end; element += 2) {
      const int64_t even = element >= first ? place++ : -1;
      const int64_t odd = element + 1 < end ? place++ : -1;
      add({element / 2, 0, {even, odd}});
    }
  }
  draw();
  while (!refused.empty()) {
    for (const NormalBlock::Pairs& pairs : std::exchange(refused, {})) add(pairs);
    draw();
  }
}

// Calls fn(first, pointer to its n elements) for each slice.
template <class T, class Fn>
void ForEachSlice(const RandomSlices& slices, void* out, Fn&& fn) {
  T* to = static_cast<T*>(out);
  for (const uint64_t first : slices.firsts) {
    fn(RandomSlice{slices.key, slices.step, first, slices.n}, to);
    to += slices.n;
  }
}

template <class T>
void FillUniform(const RandomSlices& slices, void* out_raw) {
  ForEachSlice<T>(slices, out_raw, [](const RandomSlice& slice, T* out) {
    std::array<uint32_t, 4> words{};
    for (size_t i = 0; i < slice.n; ++i) {
      const uint64_t element = slice.first + i;
      if (i == 0 || element % 4 == 0) words = Philox(slice.key, slice.step, element / 4);
      const uint32_t word = words[element % 4];
      if constexpr (std::is_same_v<T, bfloat16>) {
        // Uses 7 bits, the mantissa's size: 23 bits could round to 1.
        out[i] = bfloat16(static_cast<float>(word >> 25) * 0x1p-7F);
      } else {
        out[i] = UniformFloat(word);
      }
    }
  });
}

void FillUniformDouble(const RandomSlices& slices, void* out_raw) {
  ForEachSlice<double>(slices, out_raw, [](const RandomSlice& slice, double* out) {
    ForEachPair(slice, [out](size_t i, Pair pair) {
      out[i] = static_cast<double>(Bits64(pair) >> 12) * 0x1p-52;
    });
  });
}

template <class T, Distribution distribution>
void FillNormal(const RandomSlices& slices, void* out_raw) {
  T* const out = static_cast<T*>(out_raw);
  constexpr bool kIsTruncated = distribution == Distribution::kTruncatedNormal;
  ForEachNormal(slices, kIsTruncated ? 2.0 : std::numeric_limits<double>::max(),
                [out](int64_t place, double number) { out[place] = ConvertTo<T>(number); });
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
  return distribution == Distribution::kNormal ? FillNormal<T, Distribution::kNormal>
                                               : FillNormal<T, Distribution::kTruncatedNormal>;
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
