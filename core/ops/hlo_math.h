#pragma once
// StableHLO formulas written as C++ expressions: a term is a value that knows its builder. Operands
// broadcast as NumPy does; a number takes the other operand's dtype.

#include <utility>

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

class HloTerm {
 public:
  HloTerm(HloBuilder& hlo, HloValue value) : hlo_(&hlo), value_(std::move(value)) {}
  [[nodiscard]] const HloValue& value() const { return value_; }
  [[nodiscard]] HloBuilder& hlo() const { return *hlo_; }
  [[nodiscard]] DType dtype() const { return value_.dtype; }
  [[nodiscard]] const Shape& shape() const { return value_.shape; }

  [[nodiscard]] HloTerm Like(double number) const;  // a scalar of this dtype
  [[nodiscard]] HloTerm As(DType dtype) const;      // HloBuilder::Convert
  [[nodiscard]] HloTerm Unary(std::string_view op) const;
  [[nodiscard]] HloTerm Binary(std::string_view op, const HloTerm& y) const;
  [[nodiscard]] HloTerm Compare(std::string_view direction, const HloTerm& y) const;

 private:
  HloBuilder* hlo_;
  HloValue value_;
};

// Returns input i, with bfloat16 converted to float, in which kernels compute it.
[[nodiscard]] HloTerm WideInput(LowerContext& c, int i);

[[nodiscard]] inline HloTerm operator+(const HloTerm& x, const HloTerm& y) {
  return x.Binary("add", y);
}
[[nodiscard]] inline HloTerm operator-(const HloTerm& x, const HloTerm& y) {
  return x.Binary("subtract", y);
}
[[nodiscard]] inline HloTerm operator*(const HloTerm& x, const HloTerm& y) {
  return x.Binary("multiply", y);
}
[[nodiscard]] inline HloTerm operator/(const HloTerm& x, const HloTerm& y) {
  return x.Binary("divide", y);
}
[[nodiscard]] inline HloTerm operator-(const HloTerm& x) { return x.Unary("negate"); }
[[nodiscard]] inline HloTerm operator+(const HloTerm& x, double y) { return x + x.Like(y); }
[[nodiscard]] inline HloTerm operator-(const HloTerm& x, double y) { return x - x.Like(y); }
[[nodiscard]] inline HloTerm operator*(const HloTerm& x, double y) { return x * x.Like(y); }
[[nodiscard]] inline HloTerm operator+(double x, const HloTerm& y) { return y.Like(x) + y; }
[[nodiscard]] inline HloTerm operator-(double x, const HloTerm& y) { return y.Like(x) - y; }
[[nodiscard]] inline HloTerm operator*(double x, const HloTerm& y) { return y.Like(x) * y; }
[[nodiscard]] inline HloTerm operator/(double x, const HloTerm& y) { return y.Like(x) / y; }

// Comparisons: terms of bool. A comparison with NaN is false, except Differs.
[[nodiscard]] inline HloTerm operator<(const HloTerm& x, const HloTerm& y) {
  return x.Compare("LT", y);
}
[[nodiscard]] inline HloTerm operator<(const HloTerm& x, double y) { return x < x.Like(y); }
[[nodiscard]] inline HloTerm operator>(const HloTerm& x, const HloTerm& y) {
  return x.Compare("GT", y);
}
[[nodiscard]] inline HloTerm operator>(const HloTerm& x, double y) { return x > x.Like(y); }
[[nodiscard]] inline HloTerm operator<=(const HloTerm& x, double y) {
  return x.Compare("LE", x.Like(y));
}
[[nodiscard]] inline HloTerm operator>=(const HloTerm& x, const HloTerm& y) {
  return x.Compare("GE", y);
}
[[nodiscard]] inline HloTerm operator>=(const HloTerm& x, double y) { return x >= x.Like(y); }
[[nodiscard]] inline HloTerm Equals(const HloTerm& x, const HloTerm& y) {
  return x.Compare("EQ", y);
}
[[nodiscard]] inline HloTerm Equals(const HloTerm& x, double y) { return Equals(x, x.Like(y)); }
[[nodiscard]] inline HloTerm Differs(const HloTerm& x, const HloTerm& y) {
  return x.Compare("NE", y);
}
[[nodiscard]] inline HloTerm Differs(const HloTerm& x, double y) { return Differs(x, x.Like(y)); }
[[nodiscard]] inline HloTerm Both(const HloTerm& x, const HloTerm& y) { return x.Binary("and", y); }
[[nodiscard]] inline HloTerm Either(const HloTerm& x, const HloTerm& y) {
  return x.Binary("or", y);
}
[[nodiscard]] inline HloTerm Not(const HloTerm& x) { return x.Unary("not"); }

// Returns x where `claim` holds, otherwise y.
[[nodiscard]] HloTerm Where(const HloTerm& claim, const HloTerm& x, const HloTerm& y);
[[nodiscard]] inline HloTerm Where(const HloTerm& claim, const HloTerm& x, double y) {
  return Where(claim, x, x.Like(y));
}
[[nodiscard]] inline HloTerm Where(const HloTerm& claim, double x, const HloTerm& y) {
  return Where(claim, y.Like(x), y);
}

[[nodiscard]] inline HloTerm ExpOf(const HloTerm& x) { return x.Unary("exponential"); }
[[nodiscard]] inline HloTerm Expm1Of(const HloTerm& x) { return x.Unary("exponential_minus_one"); }
[[nodiscard]] inline HloTerm LogOf(const HloTerm& x) { return x.Unary("log"); }
[[nodiscard]] inline HloTerm Log1pOf(const HloTerm& x) { return x.Unary("log_plus_one"); }
[[nodiscard]] inline HloTerm SqrtOf(const HloTerm& x) { return x.Unary("sqrt"); }
[[nodiscard]] inline HloTerm AbsOf(const HloTerm& x) { return x.Unary("abs"); }
[[nodiscard]] inline HloTerm FloorOf(const HloTerm& x) { return x.Unary("floor"); }
[[nodiscard]] inline HloTerm SquareOf(const HloTerm& x) { return x * x; }
[[nodiscard]] inline HloTerm PowOf(const HloTerm& x, const HloTerm& y) {
  return x.Binary("power", y);
}
// The larger or smaller of x and a number; if x is NaN the result is NaN or y, depending on the
// device.
[[nodiscard]] inline HloTerm MaxOf(const HloTerm& x, double y) {
  return x.Binary("maximum", x.Like(y));
}
[[nodiscard]] inline HloTerm MinOf(const HloTerm& x, double y) {
  return x.Binary("minimum", x.Like(y));
}

// A lowering that computes output 0 as fn of the inputs, element by element; bfloat16 is rounded
// once.
template <HloTerm (*fn)(const HloTerm&)>
void LowerOne(LowerContext& c) {
  c.Output(0, fn(WideInput(c, 0)).As(c.OutputDType(0)).value());
}
template <HloTerm (*fn)(const HloTerm&, const HloTerm&)>
void LowerTwo(LowerContext& c) {
  c.Output(0, fn(WideInput(c, 0), WideInput(c, 1)).As(c.OutputDType(0)).value());
}

}  // namespace tpuest::ops
