#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "core/kernels/isa/binary_loop.h"
#include "core/kernels/isa/isa_kernels.h"
#include "core/kernels/isa/wrapping.h"

namespace tpuest::TPUEST_ISA {
namespace {

constexpr int kPowLanes = 16;

struct AddFn {
  template <class T>
  static T On(T a, T b) {
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct SubFn {
  template <class T>
  static T On(T a, T b) {
    return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct MulFn {
  template <class T>
  static T On(T a, T b) {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct DivFn {
  template <class T>
  static T On(T a, T b) {
    return a / b;
  }
};
struct DivNoNanFn {
  template <class T>
  static T On(T a, T b) {
    return b == T(0) ? T(0) : a / b;
  }
};
// NaN if either argument is NaN.
struct MaximumFn {
  template <class T>
  static T On(T a, T b) {
    return a < b || b != b ? b : a;
  }
};
struct MinimumFn {
  template <class T>
  static T On(T a, T b) {
    return b < a || b != b ? b : a;
  }
};
struct SquaredDifferenceFn {
  template <class T>
  static T On(T a, T b) {
    const Wrapping<T> difference = Wrapping<T>(a) - Wrapping<T>(b);
    return static_cast<T>(difference * difference);
  }
};
struct RsqrtGradFn {
  template <class T>
  static T On(T y, T dy) {
    return T(-0.5) * dy * (y * y * y);
  }
};
struct SqrtGradFn {
  template <class T>
  static T On(T y, T dy) {
    return T(0.5) * dy / y;
  }
};
struct SigmoidGradFn {
  template <class T>
  static T On(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};
struct TanhGradFn {
  template <class T>
  static T On(T y, T dy) {
    return dy * ((T(1) - y) * (T(1) + y));  // 1 - y^2 would cancel near 1
  }
};

template <class T>
void CheckDivisor(T b) {
  if (b == 0) ThrowZeroDivisor();
}

struct FloorDivFn {
  template <class T>
  static T On(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else {
      CheckDivisor(b);
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
      return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
    }
  }
};
struct FloorModFn {
  template <class T>
  static T On(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
    } else {
      CheckDivisor(b);
      if (b == -1) return 0;
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};
struct BitAndFn {
  template <class T>
  static T On(T a, T b) {
    return a & b;
  }
};
struct BitXorFn {
  template <class T>
  static T On(T a, T b) {
    return a ^ b;
  }
};
// Shifts as TensorFlow does: clamps the shift to 0 and the number of bits less 1, and keeps the
// sign.
struct RightShiftFn {
  template <class T>
  static T On(T a, T b) {
    return a >> std::clamp<T>(b, 0, static_cast<T>(sizeof(T) * 8 - 1));
  }
};
// Power of integers, by squaring; overflow wraps.
struct IntPowFn {
  template <class T>
  static T On(T a, T b) {
    if (b < 0) ThrowNegativePower();
    std::make_unsigned_t<T> base = static_cast<std::make_unsigned_t<T>>(a);
    std::make_unsigned_t<T> result = 1;
    for (; b > 0; b >>= 1) {
      if (b & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

struct DoublePowFn {
  template <class T>
  static T On(T a, T b) {
    return std::pow(a, b);  // Eigen's pow is off by 57 ulp
  }
};

// Processes only whole vectors, as unary.cpp does.
template <class T>
inline void PowChunk(const T* a, const T* b, T* out, int count, int64_t step_a, int64_t step_b) {
  using Lanes = Eigen::Array<WideOf<T>, kPowLanes, 1>;
  Lanes base = Lanes::Ones();
  Lanes exponent = Lanes::Ones();
  for (int k = 0; k < count; ++k) {
    base[k] = ConvertTo<WideOf<T>>(a[k * step_a]);
    exponent[k] = ConvertTo<WideOf<T>>(b[k * step_b]);
  }
  const Lanes power = base.pow(exponent);
  for (int k = 0; k < count; ++k) out[k] = ConvertTo<T>(power[k]);
}

template <class T>
void RealPow(const void* a_raw, const void* b_raw, void* out_raw, int64_t n, int64_t step_a,
             int64_t step_b) {
  const T* const a = static_cast<const T*>(a_raw);
  const T* const b = static_cast<const T*>(b_raw);
  T* const out = static_cast<T*>(out_raw);
  for (int64_t i = 0; i < n; i += kPowLanes) {
    PowChunk(a + i * step_a, b + i * step_b, out + i,
             static_cast<int>(std::min<int64_t>(kPowLanes, n - i)), step_a, step_b);
  }
}

template <class Fn>
BinaryKernel IntegerBinary(DType dtype) {
  if (dtype == DType::kInt32) return BinaryLoop<Fn, int32_t>;
  return dtype == DType::kInt64 ? BinaryLoop<Fn, int64_t> : nullptr;
}

BinaryKernel FindPow(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return RealPow<float>;
    case DType::kDouble:
      return BinaryLoop<DoublePowFn, double>;
    case DType::kBfloat16:
      return RealPow<bfloat16>;
    case DType::kInt32:
      return BinaryLoop<IntPowFn, int32_t>;
    case DType::kInt64:
      return BinaryLoop<IntPowFn, int64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

BinaryKernel FindBinary(Binary op, DType dtype) {
  switch (op) {
    case Binary::kAdd:
      return NumberBinary<AddFn>(dtype);
    case Binary::kSub:
      return NumberBinary<SubFn>(dtype);
    case Binary::kMul:
      return NumberBinary<MulFn>(dtype);
    case Binary::kDiv:
      return RealBinary<DivFn>(dtype);
    case Binary::kDivNoNan:
      return RealBinary<DivNoNanFn>(dtype);
    case Binary::kMaximum:
      return NumberBinary<MaximumFn>(dtype);
    case Binary::kMinimum:
      return NumberBinary<MinimumFn>(dtype);
    case Binary::kSquaredDifference:
      return NumberBinary<SquaredDifferenceFn>(dtype);
    case Binary::kPow:
      return FindPow(dtype);
    case Binary::kFloorDiv:
      return NumberBinary<FloorDivFn>(dtype);
    case Binary::kFloorMod:
      return NumberBinary<FloorModFn>(dtype);
    case Binary::kBitAnd:
      return IntegerBinary<BitAndFn>(dtype);
    case Binary::kBitXor:
      return IntegerBinary<BitXorFn>(dtype);
    case Binary::kRightShift:
      return IntegerBinary<RightShiftFn>(dtype);
    case Binary::kRsqrtGrad:
      return RealBinary<RsqrtGradFn>(dtype);
    case Binary::kSqrtGrad:
      return RealBinary<SqrtGradFn>(dtype);
    case Binary::kSigmoidGrad:
      return RealBinary<SigmoidGradFn>(dtype);
    case Binary::kTanhGrad:
      return RealBinary<TanhGradFn>(dtype);
    default:
      return FindComparison(op, dtype);
  }
}

}  // namespace tpuest::TPUEST_ISA
