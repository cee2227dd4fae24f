#include "core/nn/constraints.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/nn/at_least_zero.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

constexpr double kEpsilon = 1e-7;  // tf.keras.backend.epsilon()

std::vector<int64_t> AxesOf(const NormAxes& axes) {
  const auto* const one = std::get_if<int64_t>(&axes);
  return one != nullptr ? std::vector<int64_t>{*one} : std::get<std::vector<int64_t>>(axes);
}

// The axes counted from the front.
std::vector<int64_t> FromFront(const NormAxes& axes, int rank) {
  std::vector<int64_t> all = AxesOf(axes);
  for (int64_t& axis : all) {
    if (axis < 0) axis += rank;
  }
  return all;
}

Value NormOver(const NormAxes& axes, Value w) {
  const std::vector<int64_t> all = FromFront(axes, w.shape().rank());
  const Value squares = ops::Square(w);
  // No axes: every weight has a norm of its own, as in TensorFlow.
  return ops::Sqrt(all.empty() ? squares : ops::Sum(squares, all, /*keep_dims=*/true));
}

// w * (desired / (epsilon + norm)).
Value Scaled(Value w, Value desired, Value norm) {
  return ops::Mul(w, ops::RealDiv(desired, ops::AddV2(norm, kEpsilon)));
}

Value Apply(const MaxNorm& c, Value w) {
  const Value norm = NormOver(c.axis, w);
  return Scaled(w, ops::ClipByValue(norm, 0.0, c.max_value), norm);
}

Value Apply(const MinMaxNorm& c, Value w) {
  const Value norm = NormOver(c.axis, w);
  const Value clipped = ops::ClipByValue(norm, c.min_value, c.max_value);
  const Value desired = ops::AddV2(ops::Mul(clipped, c.rate), ops::Mul(norm, 1.0 - c.rate));
  return Scaled(w, desired, norm);
}

Value Apply(const NonNeg& /*c*/, Value w) {
  const Value stays = ops::GreaterEqual(w, w.graph().ScalarOf(w.dtype(), 0.0));
  return ops::Mul(w, ops::Cast(stays, w.dtype()));
}

Value Apply(const UnitNorm& c, Value w) {
  return ops::RealDiv(w, ops::AddV2(NormOver(c.axis, w), kEpsilon));
}

// Keras begins with the diagonal's value at half - 1, once or as a square of four, and puts rings
// about it: of an odd side those at half, half + 1, ..., of an even one those at half + 1, ....
Value Apply(const RadialConstraint& /*c*/, Value w) {
  const int64_t side = w.shape().dim(0);
  const int64_t half = side / 2;
  std::vector<int64_t> sources;
  for (int64_t row = 0; row < side; ++row) {
    for (int64_t column = 0; column < side; ++column) {
      const int64_t from_edge =
          std::min(std::min(row, side - 1 - row), std::min(column, side - 1 - column));
      const int64_t ring = (side - 1) / 2 - from_edge;
      const int64_t at = ring == 0 ? half - 1 : half + ring - side % 2;
      sources.push_back(at * side + at);
    }
  }
  const Value flat = ops::Reshape(w, Shape{side * side, w.shape().dim(2) * w.shape().dim(3)});
  return ops::Reshape(ops::GatherV2(flat, ops::Int32s(w.graph(), sources, "rings")), w.shape());
}

// ---- arguments ----------------------------------------------------------------------------------

void CheckAxes(const NormAxes& axes, const Shape& shape) {
  const int rank = shape.rank();
  std::vector<int64_t> seen = FromFront(axes, rank);
  for (const int64_t axis : seen) {
    if (axis >= 0 && axis < rank) continue;
    throw Error(Code::kUsage,
                fmt::format("a norm over axis {} does not fit weights {}, which have {} axes",
                            axis < 0 ? axis - rank : axis, shape.Text(), rank),
                "axis counts the variable's axes from 0");
  }
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) {
    throw Error(Code::kUsage, "the axes of a norm repeat an axis");
  }
}

void CheckFits(const MaxNorm& c, const Shape& shape) {
  CheckAxes(c.axis, shape);
  CheckAtLeastZero("max_value", c.max_value);
}

void CheckFits(const MinMaxNorm& c, const Shape& shape) {
  CheckAxes(c.axis, shape);
  CheckAtLeastZero("min_value", c.min_value);
  if (!(c.min_value <= c.max_value)) {
    throw Error(Code::kUsage, fmt::format("min_value is {}, above the max_value {}",
                                          NumberText(c.min_value), NumberText(c.max_value)));
  }
  if (!(c.rate >= 0 && c.rate <= 1)) {
    throw Error(Code::kUsage, fmt::format("rate is {}, expected from 0 to 1", NumberText(c.rate)));
  }
}

void CheckFits(const NonNeg& /*c*/, const Shape& /*shape*/) {}
void CheckFits(const UnitNorm& c, const Shape& shape) { CheckAxes(c.axis, shape); }

void CheckFits(const RadialConstraint& /*c*/, const Shape& shape) {
  const bool fits = shape.rank() == 4 && shape.dim(0) == shape.dim(1) && shape.dim(0) > 1;
  if (fits) return;
  throw Error(Code::kUsage,
              fmt::format("radial_constraint takes a kernel [side, side, channels, filters] with a "
                          "side of at least 2, but these weights are {}",
                          shape.Text()));
}

}  // namespace

void CheckConstraint(const Constraint& constraint, const Shape& shape) {
  if (!constraint) return;
  std::visit([&](const auto& c) { CheckFits(c, shape); }, *constraint);
}

Value Constrained(const Constraint& constraint, Value weights) {
  return std::visit([&](const auto& c) { return Apply(c, weights); }, *constraint);
}

}  // namespace tpuest::nn
