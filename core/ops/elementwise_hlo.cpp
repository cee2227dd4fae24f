#include "core/ops/elementwise_hlo.h"

#include <span>

namespace tpuest::ops {
namespace {

// Horner's rule for c[0] x^(n-1) + ... + c[n-1].
HloTerm Polynomial(const HloTerm& x, std::span<const double> c) {
  HloTerm sum = x.Like(c[0]);
  for (const double coefficient : c.subspan(1)) sum = sum * x + coefficient;
  return sum;
}

// W. J. Cody, "Rational Chebyshev approximations for the error function", 1969: erf(x) / x as a
// function of x^2 near 0, and exp(x^2) erfc(x) as a function of x elsewhere. The second also serves
// beyond its range, which ends at 4, because erfc is below 2e-8 there.
constexpr double kErfNear[] = {1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
                               3.77485237685302021e2, 3.20937758913846947e3};
constexpr double kErfNearDivisor[] = {1, 2.36012909523441209e1, 2.44024637934444173e2,
                                      1.28261652607737228e3, 2.84423683343917062e3};
constexpr double kErfcFar[] = {
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
    6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
    1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
constexpr double kErfcFarDivisor[] = {1,
                                      1.57449261107098347e1,
                                      1.17693950891312499e2,
                                      5.37181101862009858e2,
                                      1.62138957456669019e3,
                                      3.29079923573345963e3,
                                      4.36261909014324716e3,
                                      3.43936767414372164e3,
                                      1.23033935480374942e3};
constexpr double kErfNearEnd = 0.46875;
constexpr double kErfIsOne = 6;  // erfc(6) is below the precision of double

HloTerm ErfOf(const HloTerm& x) {
  const HloTerm size = AbsOf(x);
  const HloTerm near_square = SquareOf(MinOf(size, kErfNearEnd));
  const HloTerm near =
      x * Polynomial(near_square, kErfNear) / Polynomial(near_square, kErfNearDivisor);
  const HloTerm far = MinOf(size, kErfIsOne);
  const HloTerm erfc =
      ExpOf(-SquareOf(far)) * Polynomial(far, kErfcFar) / Polynomial(far, kErfcFarDivisor);
  return Where(size <= kErfNearEnd, near, x.Unary("sign") * (1.0 - erfc));
}

HloTerm RoundOf(const HloTerm& x) {
  return IsFloating(x.dtype()) ? x.Unary("round_nearest_even") : x;
}
HloTerm ReciprocalOf(const HloTerm& x) { return 1.0 / x; }
HloTerm IsFiniteOf(const HloTerm& x) {
  return {x.hlo(), x.hlo().Op("is_finite", {x.value()}, "", "", DType::kBool, x.shape())};
}
HloTerm IsNanOf(const HloTerm& x) { return Differs(x, x); }

HloTerm RsqrtGradOf(const HloTerm& y, const HloTerm& dy) { return -0.5 * dy * (y * y * y); }
HloTerm SqrtGradOf(const HloTerm& y, const HloTerm& dy) { return 0.5 * dy / y; }
HloTerm SigmoidGradOf(const HloTerm& y, const HloTerm& dy) { return dy * y * (1.0 - y); }
HloTerm TanhGradOf(const HloTerm& y, const HloTerm& dy) { return dy * (1.0 - y * y); }
HloTerm DivNoNanOf(const HloTerm& x, const HloTerm& y) { return Where(Equals(y, 0), 0, x / y); }
HloTerm SquaredDifferenceOf(const HloTerm& x, const HloTerm& y) { return SquareOf(x - y); }

// Avoids the ops "maximum" and "minimum", because some devices' versions ignore NaN.
HloTerm MaximumOf(const HloTerm& x, const HloTerm& y) {
  return Where(Either(x < y, Differs(y, y)), y, x);
}
HloTerm MinimumOf(const HloTerm& x, const HloTerm& y) {
  return Where(Either(y < x, Differs(y, y)), y, x);
}

// The remainder of a division has x's sign; returns whether that differs from y's sign.
HloTerm IsBelow(const HloTerm& rest, const HloTerm& y) {
  return Both(Differs(rest, 0), Differs(rest < 0, y < 0));
}
HloTerm FloorDivOf(const HloTerm& x, const HloTerm& y) {
  if (IsFloating(x.dtype())) return FloorOf(x / y);
  return x / y - IsBelow(x.Binary("remainder", y), y).As(x.dtype());
}
HloTerm FloorModOf(const HloTerm& x, const HloTerm& y) {
  const HloTerm rest = x.Binary("remainder", y);
  return Where(IsBelow(rest, y), rest + y, rest);
}

}  // namespace

// Every dtype is converted to bfloat16 through float.
void LowerCast(LowerContext& c) {
  HloTerm x(c.hlo(), c.Input(0));
  const DType to = c.OutputDType(0);
  if (to == DType::kBfloat16 && x.dtype() != to) x = x.As(DType::kFloat);
  c.Output(0, x.As(to).value());
}

void LowerRound(LowerContext& c) { LowerOne<RoundOf>(c); }
void LowerSquare(LowerContext& c) { LowerOne<SquareOf>(c); }
void LowerReciprocal(LowerContext& c) { LowerOne<ReciprocalOf>(c); }
void LowerErf(LowerContext& c) { LowerOne<ErfOf>(c); }
void LowerIsFinite(LowerContext& c) { LowerOne<IsFiniteOf>(c); }
void LowerIsNan(LowerContext& c) { LowerOne<IsNanOf>(c); }

void LowerRsqrtGrad(LowerContext& c) { LowerTwo<RsqrtGradOf>(c); }
void LowerSqrtGrad(LowerContext& c) { LowerTwo<SqrtGradOf>(c); }
void LowerSigmoidGrad(LowerContext& c) { LowerTwo<SigmoidGradOf>(c); }
void LowerTanhGrad(LowerContext& c) { LowerTwo<TanhGradOf>(c); }
void LowerDivNoNan(LowerContext& c) { LowerTwo<DivNoNanOf>(c); }
void LowerSquaredDifference(LowerContext& c) { LowerTwo<SquaredDifferenceOf>(c); }
void LowerMaximum(LowerContext& c) { LowerTwo<MaximumOf>(c); }
void LowerMinimum(LowerContext& c) { LowerTwo<MinimumOf>(c); }
void LowerFloorDiv(LowerContext& c) { LowerTwo<FloorDivOf>(c); }
void LowerFloorMod(LowerContext& c) { LowerTwo<FloorModOf>(c); }

// Counts the boundaries that are at most x. Integers are compared as float.
void LowerBucketize(LowerContext& c) {
  const auto& boundaries = c.Attr<std::vector<float>>("boundaries");
  const auto count = static_cast<int64_t>(boundaries.size());
  HloTerm x(c.hlo(), c.Input(0));
  if (!IsFloating(x.dtype())) x = x.As(DType::kFloat);
  std::vector<int64_t> dims = x.shape().dims();
  dims.push_back(1);
  const HloTerm column(c.hlo(), c.hlo().Reshape(x.value(), Shape(dims)));
  const HloTerm ends(c.hlo(), c.hlo().Constant(Tensor::Of<float>({count}, boundaries)));
  const HloTerm reached = Not(column < ends.As(x.dtype())).As(DType::kInt32);
  c.Output(0, c.hlo().Reduce("add", reached.value(), {x.shape().rank()}, 0));
}

}  // namespace tpuest::ops
