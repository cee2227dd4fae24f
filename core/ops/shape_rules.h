#pragma once
// Rules that the shape functions, row rules and plans of many ops share.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/backend/plan.h"
#include "core/graph/graph.h"
#include "core/tensor/limits.h"

namespace tpuest::ops {

// Every output has the shape of input 0.
void FirstInputShape(ShapeContext& context);
// Output 0 is what all inputs broadcast to.
void BroadcastShape(ShapeContext& context);
// Output 0 has the shape of all inputs, which must agree.
void SameInputsShape(ShapeContext& context);
// Every output is a scalar.
void ScalarShape(ShapeContext& context);
// No outputs, nothing to check.
void NoShape(ShapeContext& context);

// NumPy's broadcast of two shapes, nullopt if they do not fit.
[[nodiscard]] std::optional<Shape> BroadcastOf(const Shape& a, const Shape& b);
// All that is known from two shapes of one tensor; nullopt if they contradict.
[[nodiscard]] std::optional<Shape> MergeOf(const Shape& a, const Shape& b);
// 0 <= result < rank; Fail where the axis is outside.
[[nodiscard]] int64_t AxisIn(const ShapeContext& context, int64_t axis, int64_t rank);
[[nodiscard]] inline int64_t NormalAxis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}
// Fails unless the shape has this rank or an unknown one.
void NeedRank(const ShapeContext& context, const Shape& shape, int rank, const char* what);

// The integer of a constant of one element; Fail for any other.
[[nodiscard]] int64_t OneNumber(const ShapeContext& context, const Tensor& value, const char* what);
// The integers of a constant tensor.
[[nodiscard]] std::vector<int64_t> IntsOf(const Tensor& tensor);
// The shape that a value stands for, as far as it is known while the graph is built: through
// constants, Shape, Pack, ConcatV2, StridedSlice and Cast of them; anything else is unknown.
// Unknown rank if even the length is unknown.
[[nodiscard]] Shape ShapeFromValue(Value value);

// How many lines along the last axis a tensor of rank 1 or more has; none where they are empty.
[[nodiscard]] int64_t LinesOf(const Shape& shape);
// ShapeFromValue of an input that names sizes; fails where one of them is known to be negative.
[[nodiscard]] Shape SizesFromInput(const ShapeContext& context, int i);
// Error kUsage unless a gradient finds its node's ranks, axes or sizes, as `what` says, in the
// graph.
void NeedInGraph(const GradContext& c, bool known, std::string_view what);

// Row rule: kEach if input 0 and the result keep axis 0, which is the batch.
[[nodiscard]] Rows KeepsFirstAxis(RowContext& context);
// Row rule: kEach if every input from `first` to `last` is cut or can be.
[[nodiscard]] Rows AllCut(RowContext& context, int first, int last);

// The inputs of output 0's shape and dtype may give it their memory.
void AllowInPlaceOfSame(PlanContext& context);
// Plan: output 0 is input 0 under another shape.
void PlanAlias(PlanContext& context);

}  // namespace tpuest::ops
