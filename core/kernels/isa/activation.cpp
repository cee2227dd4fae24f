#include <cmath>

#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

// Klambauer et al. 2017, appendix A1: scale and scale * alpha.
constexpr double kSeluScale = 1.0507009873554805;
constexpr double kSeluScaleAlpha = 1.7580993408473766;

template <Activation kKind, class A>
A Value(A x, A alpha) {
  // The comparison lets a NaN fall through to x.
  if constexpr (kKind == Activation::kRelu) return x <= A(0) ? A(0) : x;
  if constexpr (kKind == Activation::kRelu6) return x <= A(0) ? A(0) : (x >= A(6) ? A(6) : x);
  if constexpr (kKind == Activation::kElu) return x < A(0) ? std::expm1(x) : x;
  if constexpr (kKind == Activation::kSelu) {
    return x < A(0) ? A(kSeluScaleAlpha) * std::expm1(x) : A(kSeluScale) * x;
  }
  if constexpr (kKind == Activation::kLeakyRelu) return x > A(0) ? x : alpha * x;
  if constexpr (kKind == Activation::kSoftplus) {
    return x > A(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  if constexpr (kKind == Activation::kSoftsign) return x / (A(1) + std::abs(x));
}

template <Activation kKind, class A>
A Gradient(A dy, A at, A alpha) {
  if constexpr (kKind == Activation::kRelu) return at > A(0) ? dy : A(0);
  if constexpr (kKind == Activation::kRelu6) return at > A(0) && at < A(6) ? dy : A(0);
  if constexpr (kKind == Activation::kElu) return at < A(0) ? (at + A(1)) * dy : dy;
  if constexpr (kKind == Activation::kSelu) {
    return at < A(0) ? dy * (at + A(kSeluScaleAlpha)) : dy * A(kSeluScale);
  }
  if constexpr (kKind == Activation::kLeakyRelu) return at > A(0) ? dy : alpha * dy;
  if constexpr (kKind == Activation::kSoftplus) {
    const A e = std::exp(-std::abs(at));
    return (at < A(0) ? dy * e : dy) / (A(1) + e);
  }
  if constexpr (kKind == Activation::kSoftsign) {
    const A root = A(1) + std::abs(at);
    return dy / (root * root);
  }
}

// The type in which a function is computed; the result is rounded to bfloat16 once, at the end.
template <class T>
struct Computed {
  using Type = T;
};
template <>
struct Computed<bfloat16> {
  using Type = float;
};

template <Activation kKind, class T>
void Loop(const void* x_raw, void* y_raw, size_t n, float alpha) {
  using A = typename Computed<T>::Type;
  const T* const x = static_cast<const T*>(x_raw);
  T* const y = static_cast<T*>(y_raw);
  for (size_t i = 0; i < n; ++i) {
    y[i] = ConvertTo<T>(Value<kKind>(ConvertTo<A>(x[i]), static_cast<A>(alpha)));
  }
}

template <Activation kKind, class T>
void GradLoop(const void* dy_raw, const void* at_raw, void* dx_raw, size_t n, float alpha) {
  using A = typename Computed<T>::Type;
  const T* const dy = static_cast<const T*>(dy_raw);
  const T* const at = static_cast<const T*>(at_raw);
  T* const dx = static_cast<T*>(dx_raw);
  for (size_t i = 0; i < n; ++i) {
    if constexpr (kKind == Activation::kRelu) {  // selecting needs no rounding
      dx[i] = ConvertTo<A>(at[i]) > A(0) ? dy[i] : T{};
    } else {
      dx[i] = ConvertTo<T>(
          Gradient<kKind>(ConvertTo<A>(dy[i]), ConvertTo<A>(at[i]), static_cast<A>(alpha)));
    }
  }
}

// ReLU on the bits: a bfloat16 is above zero if its bits, as a signed number, are.
template <>
void Loop<Activation::kRelu, bfloat16>(const void* x_raw, void* y_raw, size_t n, float /*alpha*/) {
  const auto* const x = static_cast<const uint16_t*>(x_raw);
  auto* const y = static_cast<uint16_t*>(y_raw);
  constexpr uint16_t kMinusInfinity = 0xFF80;
  for (size_t i = 0; i < n; ++i) {
    const bool drop = x[i] >= 0x8000 && x[i] <= kMinusInfinity;  // larger bits are NaNs
    y[i] = drop ? uint16_t{0} : x[i];
  }
}

template <>
void GradLoop<Activation::kRelu, bfloat16>(const void* dy_raw, const void* at_raw, void* dx_raw,
                                           size_t n, float /*alpha*/) {
  const auto* const dy = static_cast<const uint16_t*>(dy_raw);
  const auto* const at = static_cast<const uint16_t*>(at_raw);
  auto* const dx = static_cast<uint16_t*>(dx_raw);
  constexpr uint16_t kInfinity = 0x7F80;
  for (size_t i = 0; i < n; ++i) {
    const bool pass = at[i] != 0 && at[i] <= kInfinity;
    dx[i] = pass ? dy[i] : uint16_t{0};
  }
}

template <template <Activation> class Fn>
auto OfKind(Activation kind) {
  switch (kind) {
    case Activation::kRelu:
      return Fn<Activation::kRelu>::Get();
    case Activation::kRelu6:
      return Fn<Activation::kRelu6>::Get();
    case Activation::kElu:
      return Fn<Activation::kElu>::Get();
    case Activation::kSelu:
      return Fn<Activation::kSelu>::Get();
    case Activation::kLeakyRelu:
      return Fn<Activation::kLeakyRelu>::Get();
    case Activation::kSoftplus:
      return Fn<Activation::kSoftplus>::Get();
    case Activation::kSoftsign:
      break;
  }
  return Fn<Activation::kSoftsign>::Get();
}

template <class Kernel>
struct ByType {
  Kernel of_bfloat16 = nullptr;
  Kernel of_float = nullptr;
  Kernel of_double = nullptr;

  [[nodiscard]] Kernel Find(DType dtype) const {
    switch (dtype) {
      case DType::kBfloat16:
        return of_bfloat16;
      case DType::kFloat:
        return of_float;
      case DType::kDouble:
        return of_double;
      default:
        return nullptr;
    }
  }
};

template <Activation kKind>
struct Loops {
  static ByType<ActivationKernel> Get() {
    return {Loop<kKind, bfloat16>, Loop<kKind, float>, Loop<kKind, double>};
  }
};

template <Activation kKind>
struct GradLoops {
  static ByType<ActivationGradKernel> Get() {
    return {GradLoop<kKind, bfloat16>, GradLoop<kKind, float>, GradLoop<kKind, double>};
  }
};

}  // namespace

ActivationKernel FindActivation(Activation activation, DType dtype) {
  return OfKind<Loops>(activation).Find(dtype);
}

ActivationGradKernel FindActivationGrad(Activation activation, DType dtype) {
  return OfKind<GradLoops>(activation).Find(dtype);
}

}  // namespace tpuest::TPUEST_ISA
