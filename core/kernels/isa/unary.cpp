#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <unsupported/Eigen/SpecialFunctions>

#include "core/kernels/isa/float_math.h"
#include "core/kernels/isa/isa_kernels.h"
#include "core/kernels/isa/wrapping.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

// Processes only whole vectors: Eigen's scalar code for a remainder gives other bits than its
// vector code.
constexpr int kLanes = 16;
template <class T>
using Lanes = Eigen::Array<T, kLanes, 1>;
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

template <float (*fn)(float)>
[[gnu::always_inline]] inline Lanes<float> EachOf(const Lanes<float>& x) {
  Lanes<float> y;
  for (int k = 0; k < kLanes; ++k) y[k] = fn(x[k]);
  return y;
}

struct ExpFn {
  static Lanes<float> On(const Lanes<float>& x) { return EachOf<Exp>(x); }
  static Lanes<double> On(const Lanes<double>& x) { return x.exp(); }
};
// Eigen treats subnormal numbers as 0.
struct LogFn {
  template <class V>
  static V On(const V& x) {
    return x.log();
  }
};
struct Log1pFn {
  template <class V>
  static V On(const V& x) {
    return x.log1p();
  }
};
struct Expm1Fn {
  static Lanes<float> On(const Lanes<float>& x) {
    Lanes<float> y = x.expm1();
    for (int k = 0; k < kLanes; ++k) y[k] = x[k] > 1 ? Exp(x[k]) - 1 : y[k];
    return y;
  }
  static Lanes<double> On(const Lanes<double>& x) { return x.expm1(); }
};
struct SinFn {
  template <class V>
  static V On(const V& x) {
    return x.sin();
  }
};
struct CosFn {
  template <class V>
  static V On(const V& x) {
    return x.cos();
  }
};
struct SigmoidFn {
  static Lanes<float> On(const Lanes<float>& x) { return EachOf<Sigmoid>(x); }
  static Lanes<double> On(const Lanes<double>& x) { return x.logistic(); }
};
struct TanhFn {
  static Lanes<float> On(const Lanes<float>& x) { return EachOf<Tanh>(x); }
  static Lanes<double> On(const Lanes<double>& x) { return x.tanh(); }
};
// Eigen's erf loses bits for x near 0 and where erf(x) rounds to 1.
struct ErfFn {
  static Lanes<float> On(const Lanes<float>& x) {
    constexpr float kSlope = 1.12837917F;  // 2 / sqrt(pi)
    Lanes<float> y = x.erf();
    for (int k = 0; k < kLanes; ++k) {
      const float size = std::abs(x[k]);
      const float near = size < 1e-4F ? x[k] * kSlope : y[k];
      y[k] = size > 3.92F ? std::copysign(1.0F, x[k]) : near;
    }
    return y;
  }
  static Lanes<double> On(const Lanes<double>& x) { return x.erf(); }
};

template <class Fn, class T>
inline void VectorChunk(const T* x, T* y, int count) {
  Lanes<Wide<T>> lanes = Lanes<Wide<T>>::Ones();
  for (int k = 0; k < count; ++k) lanes[k] = ConvertTo<Wide<T>>(x[k]);
  lanes = Fn::On(lanes);
  for (int k = 0; k < count; ++k) y[k] = ConvertTo<T>(lanes[k]);
}

template <class Fn, class T>
void VectorLoop(const void* x_raw, void* y_raw, size_t n) {
  const T* const x = static_cast<const T*>(x_raw);
  T* const y = static_cast<T*>(y_raw);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) VectorChunk<Fn, T>(x + i, y + i, kLanes);
  if (i < n) VectorChunk<Fn, T>(x + i, y + i, static_cast<int>(n - i));
}

struct NegFn {
  template <class T>
  static T On(T x) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - Wrapping<T>(x));
    return -x;
  }
};
struct SqrtFn {
  template <class T>
  static T On(T x) {
    return std::sqrt(x);
  }
};
struct RsqrtFn {
  template <class T>
  static T On(T x) {
    return T(1) / std::sqrt(x);
  }
};
struct SquareFn {
  template <class T>
  static T On(T x) {
    return static_cast<T>(Wrapping<T>(x) * Wrapping<T>(x));
  }
};
struct AbsFn {
  template <class T>
  static T On(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? NegFn::On(x) : x;
    return std::abs(x);
  }
};
struct SignFn {
  template <class T>
  static T On(T x) {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);
  }
};
struct FloorFn {
  template <class T>
  static T On(T x) {
    return std::floor(x);
  }
};
struct CeilFn {
  template <class T>
  static T On(T x) {
    return std::ceil(x);
  }
};
struct RoundFn {
  template <class T>
  static T On(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::rint(x);  // the rounding mode is to nearest even
    } else {
      return x;
    }
  }
};
struct ReciprocalFn {
  template <class T>
  static T On(T x) {
    return T(1) / x;
  }
};
struct IsFiniteFn {
  template <class T>
  static bool On(T x) {
    return std::isfinite(x);
  }
};
struct IsNanFn {
  template <class T>
  static bool On(T x) {
    return std::isnan(x);
  }
};
struct NotFn {
  static bool On(bool x) { return !x; }
};

template <class Fn, class T>
void PlainLoop(const void* x_raw, void* y_raw, size_t n) {
  using Result = decltype(Fn::On(Wide<T>()));
  using Out = std::conditional_t<std::is_same_v<Result, Wide<T>>, T, Result>;
  const T* const x = static_cast<const T*>(x_raw);
  Out* const y = static_cast<Out*>(y_raw);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) y[i] = ConvertTo<Out>(Fn::On(ConvertTo<Wide<T>>(x[i])));
}

template <class Fn>
UnaryKernel Vector(DType dtype) {
  if (dtype == DType::kFloat) return VectorLoop<Fn, float>;
  if (dtype == DType::kDouble) return VectorLoop<Fn, double>;
  if (dtype == DType::kBfloat16) return VectorLoop<Fn, bfloat16>;
  return nullptr;
}

template <class Fn>
UnaryKernel Real(DType dtype) {
  if (dtype == DType::kFloat) return PlainLoop<Fn, float>;
  if (dtype == DType::kDouble) return PlainLoop<Fn, double>;
  if (dtype == DType::kBfloat16) return PlainLoop<Fn, bfloat16>;
  return nullptr;
}

template <class Fn>
UnaryKernel Number(DType dtype) {
  if (dtype == DType::kInt32) return PlainLoop<Fn, int32_t>;
  if (dtype == DType::kInt64) return PlainLoop<Fn, int64_t>;
  return Real<Fn>(dtype);
}

}  // namespace

UnaryKernel FindUnary(Unary op, DType dtype) {
  switch (op) {
    case Unary::kNeg:
      return Number<NegFn>(dtype);
    case Unary::kExp:
      return Vector<ExpFn>(dtype);
    case Unary::kLog:
      return Vector<LogFn>(dtype);
    case Unary::kLog1p:
      return Vector<Log1pFn>(dtype);
    case Unary::kExpm1:
      return Vector<Expm1Fn>(dtype);
    case Unary::kSqrt:
      return Real<SqrtFn>(dtype);
    case Unary::kRsqrt:
      return Real<RsqrtFn>(dtype);
    case Unary::kSquare:
      return Number<SquareFn>(dtype);
    case Unary::kAbs:
      return Number<AbsFn>(dtype);
    case Unary::kSign:
      return Number<SignFn>(dtype);
    case Unary::kFloor:
      return Real<FloorFn>(dtype);
    case Unary::kCeil:
      return Real<CeilFn>(dtype);
    case Unary::kRound:
      return Number<RoundFn>(dtype);
    case Unary::kSin:
      return Vector<SinFn>(dtype);
    case Unary::kCos:
      return Vector<CosFn>(dtype);
    case Unary::kReciprocal:
      return Real<ReciprocalFn>(dtype);
    case Unary::kSigmoid:
      return Vector<SigmoidFn>(dtype);
    case Unary::kTanh:
      return Vector<TanhFn>(dtype);
    case Unary::kErf:
      return Vector<ErfFn>(dtype);
    case Unary::kIsFinite:
      return Real<IsFiniteFn>(dtype);
    case Unary::kIsNan:
      return Real<IsNanFn>(dtype);
    case Unary::kLogicalNot:
      return dtype == DType::kBool ? PlainLoop<NotFn, bool> : nullptr;
  }
  return nullptr;
}

}  // namespace tpuest::TPUEST_ISA
