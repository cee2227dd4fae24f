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
// Output 0 has the shape that all inputs broadcast to.
void BroadcastShape(ShapeContext& context);
// Output 0 has the shape of all inputs, which must agree.
void SameInputsShape(ShapeContext& context);
// Every output is a scalar.
void ScalarShape(ShapeContext& context);
// For an op without outputs and without anything to check.
void NoShape(ShapeContext& context);

// Broadcasts two shapes as NumPy does; nullopt if they do not fit.
[[nodiscard]] std::optional<Shape> BroadcastOf(const Shape& a, const Shape& b);
// Merges two shapes of one tensor; nullopt if they contradict each other.
[[nodiscard]] std::optional<Shape> MergeOf(const Shape& a, const Shape& b);
// Returns the axis in 0 <= result < rank. Fails if it is out of range.
[[nodiscard]] int64_t AxisIn(const ShapeContext& context, int64_t axis, int64_t rank);
[[nodiscard]] inline int64_t NormalAxis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}
// Fails unless the shape has this rank or an unknown rank.
void NeedRank(const ShapeContext& context, const Shape& shape, int rank, const char* what);

// Returns the integer of a constant with one element. Fails for any other.
[[nodiscard]] int64_t OneNumber(const ShapeContext& context, const Tensor& value, const char* what);
// The integers of a constant tensor.
[[nodiscard]] std::vector<int64_t> IntsOf(const Tensor& tensor);
// Returns the integers of an input. Throws Error kUsage with the node's place if they are not known
// from constants and shapes.
[[nodiscard]] std::vector<int64_t> NeedConstant(const Node& node, int input);
// Returns the shape that a value holds, as far as it is known while the graph is built: through
// constants, Shape, Pack, ConcatV2, StridedSlice and Cast. Anything else is unknown; the rank is
// unknown if the length is unknown.
[[nodiscard]] Shape ShapeFromValue(Value value);

// Returns the number of lines along the last axis of a tensor of rank 1 or more; 0 if the lines are
// empty.
[[nodiscard]] int64_t LinesOf(const Shape& shape);
// ShapeFromValue of an input that holds sizes; fails if one of them is known to be negative.
[[nodiscard]] Shape SizesFromInput(const ShapeContext& context, int i);
// Throws Error kUsage unless `known`: a gradient needs its node's ranks, axes or sizes, named by
// `what`, in the graph.
void NeedInGraph(const GradContext& c, bool known, std::string_view what);

// Returns the gradients of all outputs: zeros for an output that nothing depends on.
[[nodiscard]] std::vector<Value> GradientsOrZeros(const GradContext& c);

// Row rule: kEach if input 0 and the result keep axis 0, which is the batch.
[[nodiscard]] Rows KeepsFirstAxis(RowContext& context);
// Row rule: kEach if every input from `first` to `last` is cut or can be cut.
[[nodiscard]] Rows AllCut(RowContext& context, int first, int last);

// Lets output 0 reuse the memory of inputs that have its shape and dtype.
void AllowInPlaceOfSame(PlanContext& context);
// Plan: output 0 is input 0 in another shape.
void PlanAlias(PlanContext& context);

}  // namespace tpuest::ops
