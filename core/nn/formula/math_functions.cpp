// Reductions, and functions that are several ops.

#include <array>
#include <limits>

#include "core/nn/formula/call.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

using Reduce = Value (*)(Value x, const std::vector<int64_t>& axes, bool keep_dims,
                         std::string_view name);
constexpr std::string_view kReduction = "input_tensor, axis=None, keepdims=False";

// No axes: nothing is reduced, as in TensorFlow.
Value Reduced(Reduce reduce, Value x, const std::vector<int64_t>& axes, bool keep) {
  return axes.empty() ? x : reduce(x, axes, keep, "");
}

// Returns the value that replaces the elements which a mask excludes.
double FillerOf(Reduce reduce) {
  if (reduce == ops::Max) return -std::numeric_limits<double>::infinity();
  if (reduce == ops::Min) return std::numeric_limits<double>::infinity();
  return reduce == ops::Prod || reduce == ops::All ? 1 : 0;
}

// The axes of x[mask] that a call names: all of them, or 0, those of the mask.
std::vector<int64_t> MaskedAxes(const Arguments& a, size_t axis) {
  const Masked& masked = *a.at(0).masked();
  if (!a.Has(axis)) return a.Axes(axis, masked.x);
  if (a.Integers(axis) != std::vector<int64_t>{0}) {
    a.Fail(axis, "x[mask] can be reduced only over axis 0 or over all axes");
  }
  std::vector<int64_t> axes;
  for (int64_t d = masked.x.rows ? 1 : 0; d < masked.mask.value.shape().rank(); ++d) {
    axes.push_back(d);
  }
  return axes;
}

// A reduction of x[mask]. The mean is the sum divided by how many there are: nan of none.
Operand ReducedMasked(const Arguments& a, Reduce reduce, size_t axis) {
  const Masked& masked = *a.at(0).masked();
  if (a.Truth(axis + 1, false)) a.Fail(axis + 1, "x[mask] cannot keep its axes");
  const std::vector<int64_t> axes = MaskedAxes(a, axis);
  const bool mean = reduce == ops::Mean;
  if (mean && !IsFloating(masked.x.value.dtype())) {
    a.Fail(0, "the mean of x[mask] needs floating-point numbers", "cast(x, float32)[mask]");
  }
  const Tensored filled = WhereMasked(a, FillerOf(reduce));
  const Value result = (mean ? ops::Sum : reduce)(filled.value, axes, false, "");
  if (!mean) return {Tensored{result, filled.rows}};
  return {Tensored{ops::RealDiv(result, ops::Sum(MaskAsNumbers(masked), axes)), filled.rows}};
}

template <Reduce reduce>
Operand BuildReduction(const Arguments& a) {
  if (a.at(0).masked() != nullptr) return ReducedMasked(a, reduce, 1);
  const Tensored x = a.Tensor(0);
  return {Tensored{Reduced(reduce, x.value, a.Axes(1, x), a.Truth(2, false)), x.rows}};
}

Value Variance(Value x, const std::vector<int64_t>& axes, bool keep) {
  const Value mean = Reduced(ops::Mean, x, axes, true);
  return Reduced(ops::Mean, ops::Square(ops::Sub(x, mean)), axes, keep);
}

Operand BuildVariance(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  return {Tensored{Variance(x.value, a.Axes(1, x), a.Truth(2, false)), x.rows}};
}
Operand BuildDeviation(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  return {Tensored{ops::Sqrt(Variance(x.value, a.Axes(1, x), a.Truth(2, false))), x.rows}};
}
Operand BuildNorm(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const Value sum = Reduced(ops::Sum, ops::Square(x.value), a.Axes(1, x), a.Truth(2, false));
  return {Tensored{ops::Sqrt(sum), x.rows}};
}
// log(sum(exp(x))), of what is left when the largest is taken away, which has no gradient.
Operand BuildLogSumExp(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const std::vector<int64_t> axes = a.Axes(1, x);
  if (axes.empty()) return {x};
  const Value most = ops::Max(x.value, axes, true);
  const Value shift =
      ops::StopGradient(ops::SelectV2(ops::IsFinite(most), most, ops::ZerosLike(most)));
  const Value sum = ops::Sum(ops::Exp(ops::Sub(x.value, shift)), axes, true);
  const Value result = ops::AddV2(ops::Log(sum), shift);
  if (a.Truth(2, false)) return {Tensored{result, x.rows}};
  return {Tensored{ops::Squeeze(result, axes), x.rows}};
}

// max and min: of one tensor over its axes, of several element by element.
template <Reduce reduce>
Operand BuildExtreme(const Arguments& a, std::string_view op) {
  constexpr size_t kMost = 4;
  const bool reduces = !a.Has(1) && !a.Has(2) && !a.Has(3);
  if (reduces) {
    if (a.at(0).masked() != nullptr) return ReducedMasked(a, reduce, kMost);
    const Tensored x = a.Tensor(0);
    const bool keep = a.Truth(kMost + 1, false);
    return {Tensored{Reduced(reduce, x.value, a.Axes(kMost, x), keep), x.rows}};
  }
  if (a.Has(kMost)) a.Fail(kMost, "several tensors do not take an axis");
  Operand all = a.at(0);
  for (size_t i = 1; i < kMost; ++i) {
    if (!a.Has(i)) continue;
    all = {BuiltAt(a.call(), [&] {
      return Elementwise(a.graph(), op, {&all, &a.at(i)}, a.call().text);
    })};
  }
  return all;
}
Operand BuildMax(const Arguments& a) { return BuildExtreme<ops::Max>(a, "Maximum"); }
Operand BuildMin(const Arguments& a) { return BuildExtreme<ops::Min>(a, "Minimum"); }

Operand BuildClip(const Arguments& a) {
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  const std::vector<Tensored> t = a.Alike(kAll);
  return {Tensored{ops::ClipByValue(t[0].value, t[1].value, t[2].value),
                   t[0].rows || t[1].rows || t[2].rows}};
}

Operand BuildIsInf(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const Value other = ops::LogicalOr(ops::IsFinite(x.value), ops::IsNan(x.value));
  return {Tensored{ops::LogicalNot(other), x.rows}};
}

Operand BuildLogicalXor(const Arguments& a) {
  return {Elementwise(a.graph(), "NotEqual", {&a.at(0), &a.at(1)}, a.call().text)};
}

// Integers are converted first: those of up to 16 bits to float32, all others to float64.
Operand BuildDivide(const Arguments& a) {
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  Value x = t[0].value;
  Value y = t[1].value;
  if (IsInteger(x.dtype())) {
    const DType real = SizeOf(x.dtype()) <= 2 ? DType::kFloat : DType::kDouble;
    x = ops::Cast(x, real);
    y = ops::Cast(y, real);
  }
  return {Tensored{ops::RealDiv(x, y), t[0].rows || t[1].rows}};
}

constexpr std::string_view kTwoParameters = "x, y";
constexpr std::string_view kSeveral = "a, b=None, c=None, d=None, axis=None, keepdims=False";
constexpr std::array kMath = {
    FormulaRecord{"reduce_sum sum", kReduction, BuildReduction<ops::Sum>},
    FormulaRecord{"reduce_mean mean", kReduction, BuildReduction<ops::Mean>},
    FormulaRecord{"reduce_max", kReduction, BuildReduction<ops::Max>},
    FormulaRecord{"reduce_min", kReduction, BuildReduction<ops::Min>},
    FormulaRecord{"reduce_prod prod", kReduction, BuildReduction<ops::Prod>},
    FormulaRecord{"reduce_all all", kReduction, BuildReduction<ops::All>},
    FormulaRecord{"reduce_any any", kReduction, BuildReduction<ops::Any>},
    FormulaRecord{"reduce_variance", kReduction, BuildVariance},
    FormulaRecord{"reduce_std", kReduction, BuildDeviation},
    FormulaRecord{"reduce_euclidean_norm norm", kReduction, BuildNorm},
    FormulaRecord{"reduce_logsumexp", kReduction, BuildLogSumExp},
    FormulaRecord{"max", kSeveral, BuildMax},
    FormulaRecord{"min", kSeveral, BuildMin},
    FormulaRecord{"clip_by_value clip", "t, clip_value_min, clip_value_max", BuildClip},
    FormulaRecord{"divide truediv", kTwoParameters, BuildDivide},
    FormulaRecord{"is_inf", "x", BuildIsInf},
    FormulaRecord{"logical_xor", kTwoParameters, BuildLogicalXor},
};

}  // namespace

std::span<const FormulaRecord> MathFunctions() { return kMath; }

}  // namespace tpuest::nn
