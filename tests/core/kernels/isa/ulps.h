#pragma once
// Measures elementwise kernels against the same functions in long double, in units in the last
// place (ulp) of the exact result.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/kernels/isa/kernel_table.h"

namespace tpuest::ulps {

// The function of one or two numbers that a kernel computes, and its domain of measurement.
struct Case {
  std::string name;
  // Runs the kernel of `table` over n numbers of T; `b` is null for functions of one number.
  std::function<bool(const KernelTable& table, DType dtype, const void* a, const void* b, void* out,
                     size_t n)>
      run;
  std::function<long double(long double a, long double b)> exact;
  bool has_two = false;
  // Where the function is measured; everywhere if empty.
  std::function<bool(long double a, long double b)> is_in_domain = {};
  double bound = 4;  // in ulp
};

struct Worst {
  double ulps = 0;
  double a = 0;
  double b = 0;
  // Results that are NaN or infinite where the exact one is not, or the reverse.
  int64_t kind_differs = 0;
  double kind_a = 0;
  double kind_b = 0;
  int64_t count = 0;
};

// The distance between `exact` and the next number of T: at least that of subnormal numbers.
template <class T>
long double UlpOf(long double exact) {
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  (void)std::frexp(exact, &exponent);
  return std::ldexp(1.0L, std::max(exponent, Limits::min_exponent) - Limits::digits);
}

// All bit patterns of T except NaN are equally likely, so all exponents are. The second of two
// numbers is near the first or independent of it.
template <class T>
std::vector<T> BitPatterns(size_t n, uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::mt19937_64 random(seed);
  std::vector<T> values = {T(0),
                           T(-0.0),
                           T(1),
                           T(-1),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::denorm_min()};
  while (values.size() < n) {
    const T value = std::bit_cast<T>(static_cast<Bits>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

// Numbers of typical magnitudes in models, from 2^-12 to 2^8, of both signs.
template <class T>
std::vector<T> ModelNumbers(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T& value : values) {
    const double magnitude = std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 11), -53),
                                        static_cast<int>(random() % 20) - 12);
    value = static_cast<T>(random() % 2 == 0 ? magnitude : -magnitude);
  }
  return values;
}

template <class T>
Worst Measure(const Case& of, const KernelTable& table, const std::vector<T>& a,
              const std::vector<T>& b) {
  std::vector<T> out(a.size());
  Worst worst;
  const DType dtype = std::is_same_v<T, float> ? DType::kFloat : DType::kDouble;
  if (!of.run(table, dtype, a.data(), b.data(), out.data(), a.size())) return worst;
  for (size_t i = 0; i < a.size(); ++i) {
    if (of.is_in_domain && !of.is_in_domain(a[i], b[i])) continue;
    // Kernels may treat subnormal arguments and results as 0, as TensorFlow does.
    constexpr T kLeast = std::numeric_limits<T>::min();
    if (a[i] != 0 && std::abs(a[i]) < kLeast) continue;
    const long double exact = of.exact(a[i], b[i]);
    if (std::abs(exact) <= kLeast && std::abs(out[i]) <= kLeast) continue;
    const auto nearest = static_cast<T>(exact);
    ++worst.count;
    if (std::isnan(nearest) && std::isnan(out[i])) continue;
    if (!std::isfinite(nearest) || !std::isfinite(out[i])) {
      // The largest number instead of infinity counts as a distance of one, and so does the
      // reverse.
      const bool is_next =
          !std::isnan(nearest) && !std::isnan(out[i]) && (out[i] < 0) == (nearest < 0) &&
          std::max(std::abs(out[i]), std::abs(nearest)) == std::numeric_limits<T>::infinity() &&
          std::min(std::abs(out[i]), std::abs(nearest)) >=
              std::numeric_limits<T>::max() * T(0.99999);
      if (out[i] != nearest && !is_next) {
        if (worst.kind_differs++ == 0) {
          worst.kind_a = static_cast<double>(a[i]);
          worst.kind_b = static_cast<double>(b[i]);
        }
      }
      continue;
    }
    const auto ulps =
        static_cast<double>(std::abs(static_cast<long double>(out[i]) - exact) / UlpOf<T>(exact));
    if (ulps > worst.ulps) {
      worst.ulps = ulps;
      worst.a = static_cast<double>(a[i]);
      worst.b = static_cast<double>(b[i]);
    }
  }
  return worst;
}

// Every elementwise kernel that rounds.
std::vector<Case> Cases();

}  // namespace tpuest::ulps
