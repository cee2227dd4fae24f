#pragma once
// Element-wise functions of two arguments. An argument is contiguous (step 1) or one number for the
// whole call (step 0). The result may take the memory of a contiguous argument of its size. As with
// one argument, no result depends on its element's position.

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

// nullptr if there is no such kernel. bfloat16 (computed in float), float and double; maths but
// kDiv, kDivNoNan and the gradients also int32 and int64; comparisons those and, if they are of
// equality, bool, int8, uint8 and string; of bits int32 and int64, a shift by at least 0 and less
// than there are bits. Integer division by 0 and negative integer powers are
// Error kData.
[[nodiscard]] BinaryKernel FindBinary(Binary op, DType dtype);

}  // namespace tpuest
