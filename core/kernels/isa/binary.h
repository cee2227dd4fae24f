#pragma once
// Element-wise functions of two arguments. An argument is contiguous (step 1), or one number for
// the whole call (step 0). The result may use the memory of a contiguous argument of its size. The
// result of an element does not depend on its position.

#include <cstddef>
#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

enum class Binary {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kDivNoNan,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kPow,
  kFloorDiv,
  kFloorMod,
  kRsqrtGrad,
  kSqrtGrad,
  kSigmoidGrad,
  kTanhGrad,  // of (y, dy)
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,  // -> bool
  kAnd,
  kOr,  // bool
  kBitAnd,
  kBitXor,
  kRightShift  // of integers
};

using BinaryKernel = void (*)(const void* a, const void* b, void* out, int64_t n, int64_t step_a,
                              int64_t step_b);

// Returns nullptr if there is no such kernel. All functions but the bitwise ones take bfloat16
// (computed in float), float and double. Arithmetic except kDiv, kDivNoNan and the gradients also
// takes int32 and int64; comparisons also take these, and equality also bool, int8, uint8 and
// string. Bitwise functions take int32 and int64; a shift is by at least 0 and less than the number
// of bits. Integer division by 0 and negative integer powers throw Error kData.
[[nodiscard]] BinaryKernel FindBinary(Binary op, DType dtype);

}  // namespace tpuest
