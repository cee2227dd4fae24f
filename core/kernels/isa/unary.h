#pragma once
// Element-wise functions of one argument on contiguous memory. The result of an element does not
// depend on its position, so blocks of any size give the same bits. x and y may be the same memory.

#include <cstddef>

#include "core/tensor/dtype.h"

namespace tpuest {

enum class Unary {
  kNeg,
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kSqrt,
  kRsqrt,
  kSquare,
  kAbs,
  kSign,
  kFloor,
  kCeil,
  kRound,
  kSin,
  kCos,
  kReciprocal,
  kSigmoid,
  kTanh,
  kErf,
  kIsFinite,
  kIsNan,
  kLogicalNot  // -> bool
};

using UnaryKernel = void (*)(const void* x, void* y, size_t n);

// Returns nullptr if there is no such kernel. Functions of real numbers take bfloat16 (computed in
// float), float and double; kNeg, kSquare, kAbs, kSign and kRound also take int32 and int64;
// kLogicalNot takes bool.
[[nodiscard]] UnaryKernel FindUnary(Unary op, DType dtype);

}  // namespace tpuest
