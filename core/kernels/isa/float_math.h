#pragma once
// Elementary functions of one float, accurate to 2 ulp over the whole range and written so that
// compilers vectorise them: no branch, no conversion, no table. Eigen's are less accurate: its
// logistic has a relative error of 3e-4 near -9, and its exp for AVX-512 is infinite above 88.38.
// Every product that is added is an explicit fma, so all instruction sets give the same bits.
//
// Polynomials and the parts of ln 2: Cephes (S. Moshier), single/expf.c and single/tanhf.c.

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/kernels/isa/isa_kernels.h"

namespace tpuest::TPUEST_ISA {

// 2^n for -126 <= n <= 127.
[[gnu::always_inline]] inline float PowerOfTwo(int32_t n) {
  return std::bit_cast<float>((n + 127) << 23);
}

// Returns subnormal numbers, 0 and infinity where exp in float does. NaN gives NaN.
[[gnu::always_inline]] inline float Exp(float x) {
  constexpr float kMost = 89;     // exp of a larger number is infinite
  constexpr float kLeast = -104;  // exp of a smaller number is 0
  x = x > kMost ? kMost : x;
  x = x < kLeast ? kLeast : x;
  // Adding it rounds to an integer, which is in the low bits of the sum.
  constexpr float kMagic = 0x1.8p23F;
  const float sum = std::fma(x, 0x1.715476p0F, kMagic);
  const int32_t n = std::bit_cast<int32_t>(sum) - std::bit_cast<int32_t>(kMagic);
  const float whole = sum - kMagic;
  const float r = std::fma(whole, 2.12194440e-4F, std::fma(whole, -0.693359375F, x));
  float p = 1.9875691500e-4F;
  p = std::fma(p, r, 1.3981999507e-3F);
  p = std::fma(p, r, 8.3334519073e-3F);
  p = std::fma(p, r, 4.1665795894e-2F);
  p = std::fma(p, r, 1.6666665459e-1F);
  p = std::fma(p, r, 5.0000001201e-1F);
  p = std::fma(p, r * r, r) + 1;
  // Multiplies in two steps, so that each factor has a valid exponent.
  const int32_t half = n >> 1;
  return p * PowerOfTwo(half) * PowerOfTwo(n - half);
}

// 1 / (1 + exp(-x)), computed without a positive exponent.
[[gnu::always_inline]] inline float Sigmoid(float x) {
  const float e = Exp(-std::abs(x));
  return (x < 0 ? e : 1.0F) / (1 + e);
}

[[gnu::always_inline]] inline float Tanh(float x) {
  const float size = std::abs(x);
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = std::fma(p, z, 2.06390887954e-2F);
  p = std::fma(p, z, -5.37397155531e-2F);
  p = std::fma(p, z, 1.33314422036e-1F);
  p = std::fma(p, z, -3.33332819422e-1F);
  const float near = std::fma(p * z, x, x);
  const float far = std::copysign(1 - 2 / (Exp(2 * size) + 1), x);
  return size < 0.625F ? near : far;
}

}  // namespace tpuest::TPUEST_ISA
