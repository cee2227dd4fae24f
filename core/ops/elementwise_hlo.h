#pragma once
// Functions of one and two arguments in StableHLO, equivalent to their kernels.

#include <algorithm>

#include "core/ops/hlo_math.h"

namespace tpuest::ops {

// A StableHLO op's name as a template argument.
template <size_t n>
struct HloName {
  consteval HloName(const char (&name)[n]) { std::copy_n(name, n, text); }  // NOLINT: by its text
  char text[n] = {};
};

// A lowering whose output 0 is this StableHLO op of input 0.
template <HloName op>
void LowerPlain(LowerContext& c) {
  c.Output(0, WideInput(c, 0).Unary(op.text).As(c.OutputDType(0)).value());
}
// A lowering whose output 0 is this StableHLO op of inputs 0 and 1.
template <HloName op>
void LowerPlainPair(LowerContext& c) {
  c.Output(0, WideInput(c, 0).Binary(op.text, WideInput(c, 1)).As(c.OutputDType(0)).value());
}
template <HloName direction>
void LowerComparison(LowerContext& c) {
  c.Output(0, WideInput(c, 0).Compare(direction.text, WideInput(c, 1)).value());
}

void LowerCast(LowerContext& c);
void LowerRound(LowerContext& c);  // half to even; integers stay unchanged
void LowerSquare(LowerContext& c);
void LowerReciprocal(LowerContext& c);
void LowerErf(LowerContext& c);
void LowerIsFinite(LowerContext& c);
void LowerIsNan(LowerContext& c);

void LowerRsqrtGrad(LowerContext& c);
void LowerSqrtGrad(LowerContext& c);
void LowerSigmoidGrad(LowerContext& c);
void LowerTanhGrad(LowerContext& c);
void LowerDivNoNan(LowerContext& c);
void LowerSquaredDifference(LowerContext& c);
// Both of these return NaN if either operand is NaN.
void LowerMaximum(LowerContext& c);
void LowerMinimum(LowerContext& c);
// Dividing integers by 0 gives the device's result.
void LowerFloorDiv(LowerContext& c);
void LowerFloorMod(LowerContext& c);

void LowerBucketize(LowerContext& c);

}  // namespace tpuest::ops
