#include "core/kernels/random_fill.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace tpuest {
namespace {

constexpr RandomKey kKey{.seed = 5, .name = 77};

// Box and Muller's formula with the library's functions.
double NormalByLibrary(uint32_t low, uint32_t high) {
  const double u = (static_cast<double>(low) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(high) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

double NormalByLibrary(uint64_t step, uint64_t element) {
  const std::array<uint32_t, 4> words = Philox(kKey, step, element / 2);
  const size_t at = element % 2 * 2;
  return NormalByLibrary(words[at], words[at + 1]);
}

template <class T>
std::vector<T> Filled(Distribution distribution, uint64_t first, size_t n) {
  std::vector<T> values(n);
  FindRandom(distribution, kDTypeOf<T>)({.key = kKey, .step = 3, .firsts = {&first, 1}, .n = n},
                                        values.data());
  return values;
}

}  // namespace

TEST_CASE("normal numbers are those of Box and Muller's formula to the last place of a double") {
  constexpr size_t kCount = 100000;
  const std::vector<double> normals = Filled<double>(Distribution::kNormal, 0, kCount);
  const std::vector<float> floats = Filled<float>(Distribution::kNormal, 0, kCount);
  size_t apart = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double expected = NormalByLibrary(3, i);
    apart += std::abs(normals[i] - expected) > 1e-15 * std::abs(expected) ? 1 : 0;
    apart += floats[i] != static_cast<float>(expected) ? 1 : 0;
  }
  CHECK(apart == 0);
}

TEST_CASE("truncated normal numbers are the first within two deviations") {
  constexpr size_t kCount = 20000;
  const std::vector<float> floats = Filled<float>(Distribution::kTruncatedNormal, 0, kCount);
  size_t apart = 0;
  for (size_t i = 0; i < kCount; ++i) {
    double expected = NormalByLibrary(3, i);
    for (uint64_t attempt = 1; std::abs(expected) > 2; ++attempt) {
      expected = NormalByLibrary(3 + (attempt << 56), i);
    }
    apart += floats[i] != static_cast<float>(expected) ? 1 : 0;
  }
  CHECK(apart == 0);
}

TEST_CASE("several slices have the same values as each slice by itself") {
  const std::vector<uint64_t> firsts = {48, 3, 3, 1000, 7};
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
    for (const size_t n : {1, 5, 16, 100}) {
      CAPTURE(n);
      std::vector<float> together(firsts.size() * n);
      FindRandom(distribution, DType::kFloat)({.key = kKey, .step = 3, .firsts = firsts, .n = n},
                                              together.data());
      std::vector<float> alone;
      for (const uint64_t first : firsts) {
        const std::vector<float> slice = Filled<float>(distribution, first, n);
        alone.insert(alone.end(), slice.begin(), slice.end());
      }
      CHECK(together == alone);
    }
  }
}

TEST_CASE("a slice of random numbers is that part of the whole, wherever it begins and ends") {
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
    const std::vector<float> whole = Filled<float>(distribution, 0, 300);
    for (const uint64_t first : {0, 1, 2, 15, 16, 63, 100}) {
      for (const size_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 130, 200}) {
        CAPTURE(first);
        CAPTURE(n);
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(first);
        CHECK(Filled<float>(distribution, first, n) ==
              std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(n)));
      }
    }
  }
}

}  // namespace tpuest
