#pragma once
// The loop of every function of two arguments.

#include <cstdint>
#include <type_traits>

#include "core/kernels/isa/binary.h"
#include "core/tensor/elements.h"

namespace tpuest {

// bfloat16 is computed in float.
template <class T>
using WideOf = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

// out = Fn::On(a, b). Each of the three loops has constant steps, so that it vectorises; working in
// place means a distance of 0, which ivdep allows.
template <class Fn, class T>
void BinaryLoop(const void* a_raw, const void* b_raw, void* out_raw, int64_t n, int64_t step_a,
                int64_t step_b) {
  using Result = decltype(Fn::On(WideOf<T>(), WideOf<T>()));
  using Out = std::conditional_t<std::is_same_v<Result, WideOf<T>>, T, Result>;
  const auto on = [](T a, T b) {
    return ConvertTo<Out>(Fn::On(ConvertTo<WideOf<T>>(a), ConvertTo<WideOf<T>>(b)));
  };
  const T* const a = static_cast<const T*>(a_raw);
  const T* const b = static_cast<const T*>(b_raw);
  Out* const out = static_cast<Out*>(out_raw);
  if (n <= 0) return;
  if (step_a == 1 && step_b == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = on(a[i], b[i]);
  } else if (step_a == 1) {
    const T same = b[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = on(a[i], same);
  } else if (step_b == 1) {
    const T same = a[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = on(same, b[i]);
  } else {
    const Out same = on(a[0], b[0]);
    for (int64_t i = 0; i < n; ++i) out[i] = same;
  }
}

template <class Fn>
BinaryKernel RealBinary(DType dtype) {
  if (dtype == DType::kFloat) return BinaryLoop<Fn, float>;
  if (dtype == DType::kDouble) return BinaryLoop<Fn, double>;
  if (dtype == DType::kBfloat16) return BinaryLoop<Fn, bfloat16>;
  return nullptr;
}

template <class Fn>
BinaryKernel NumberBinary(DType dtype) {
  if (dtype == DType::kInt32) return BinaryLoop<Fn, int32_t>;
  if (dtype == DType::kInt64) return BinaryLoop<Fn, int64_t>;
  return RealBinary<Fn>(dtype);
}

// Throw Error kData. They are compiled once, because the kernels' sources throw nothing themselves.
[[noreturn]] void ThrowZeroDivisor();
[[noreturn]] void ThrowNegativePower();

}  // namespace tpuest
