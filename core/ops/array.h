#pragma once
// Ops that create, move and select elements. Negative axes count from the end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Constants: int32 [values.size()], or int64 if a value needs it; zeros or ones of a known shape.
Value Int32s(Graph& graph, const std::vector<int64_t>& values, std::string_view name = "Const");
Value Zeros(Graph& graph, DType dtype, const Shape& shape, std::string_view name = "zeros");
Value Ones(Graph& graph, DType dtype, const Shape& shape, std::string_view name = "ones");
// A constant with the same number in every element.
Value Full(Graph& graph, DType dtype, const Shape& shape, double value,
           std::string_view name = "Const");

Value Identity(Value x, std::string_view name = "");
Value StopGradient(Value x, std::string_view name = "");
// Returns x. Its gradient is an Error with `message`.
Value PreventGradient(Value x, std::string_view message, std::string_view name = "");
// A node that does nothing and runs after all of `nodes` (tf.group).
Node* NoOp(Graph& graph, const std::vector<Node*>& nodes, std::string_view name = "");

// `shape` may have one kUnknownDim, which is inferred from the other dimensions.
Value Reshape(Value x, const Shape& shape, std::string_view name = "");
Value Reshape(Value x, Value shape, std::string_view name = "");
// [B, ...] -> [B, product of the other dimensions].
Value FlattenRows(Value x, std::string_view name = "");
// tf.shape, tf.size, tf.rank. (tpuest::Shape is the type.)
Value ShapeOf(Value x, DType out_type = DType::kInt32, std::string_view name = "");
Value Size(Value x, DType out_type = DType::kInt32, std::string_view name = "");
Value Rank(Value x, std::string_view name = "");
Value ExpandDims(Value x, int axis, std::string_view name = "");
// Drops axes of size 1; without `axes`, all dimensions known to be 1.
Value Squeeze(Value x, const std::vector<int64_t>& axes = {}, std::string_view name = "");

Value ConcatV2(std::vector<Value> values, int axis, std::string_view name = "");
// Stacks values of one shape along a new axis (tf.stack).
Value Pack(std::vector<Value> values, int axis = 0, std::string_view name = "");
// Returns the slices along an axis of known size (tf.unstack).
std::vector<Value> Unpack(Value x, int axis = 0, std::string_view name = "");

// Returns `parts` equal parts of x along an axis (tf.split).
std::vector<Value> EqualParts(Value x, int parts, int axis, std::string_view name = "");

// Python's x[begin:end:stride, ...]; bit i of a mask applies to position i.
struct StridedSliceOptions {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  std::vector<int64_t> strides;  // empty: all 1
  int64_t begin_mask = 0;        // ignores begin: starts at the first element
  int64_t end_mask = 0;          // ignores end: stops after the last element
  int64_t ellipsis_mask = 0;     // stands for all remaining positions
  int64_t new_axis_mask = 0;     // inserts an axis of size 1
  int64_t shrink_axis_mask = 0;  // takes the element at begin and drops the axis
};
Value StridedSlice(Value x, const StridedSliceOptions& options, std::string_view name = "");
// x[begin : begin + size] on each axis; size -1 goes to the end.
Value Slice(Value x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size,
            std::string_view name = "");
// Adds zeros around x: paddings[axis] = {before, after}.
Value Pad(Value x, const std::vector<std::pair<int64_t, int64_t>>& paddings,
          std::string_view name = "");
// y.shape[i] = x.shape[perm[i]].
Value Transpose(Value x, const std::vector<int64_t>& perm, std::string_view name = "");
// x with these axes turned around.
Value ReverseV2(Value x, const std::vector<int64_t>& axes, std::string_view name = "");
// x with the first lengths[b] elements along seq_axis of each row b of batch_axis turned around.
// lengths: int32 or int64 [x.shape[batch_axis]]; one outside of the axis is an Error kData.
Value ReverseSequence(Value x, Value lengths, int seq_axis, int batch_axis = 0,
                      std::string_view name = "");
// The matrices x [..., rows, columns] with zeros but on the diagonal, `lower` diagonals below it
// and `upper` above it; a negative number keeps all. A number above the matrix's size is an Error
// kData.
Value MatrixBandPart(Value x, int64_t lower, int64_t upper, std::string_view name = "");
Value Tile(Value x, const std::vector<int64_t>& multiples, std::string_view name = "");
Value BroadcastTo(Value x, Value shape, std::string_view name = "");
Value BroadcastTo(Value x, const Shape& shape, std::string_view name = "");
// Returns the shape that two shapes (int32 or int64 [rank]) broadcast to; the host computes it
// before the step. Throws Error kData at the node's place if they do not broadcast, in TensorFlow's
// words or with `refusal`, in which %0 and %1 stand for the first numbers of both shapes.
struct BroadcastRefusal {
  std::string text;
  std::string way_out;
};
Value BroadcastArgs(Value s0, Value s1, const BroadcastRefusal& refusal = {},
                    std::string_view name = "");
// Returns a tensor of shape `dims` (int32 or int64 [rank]) with `value` (a scalar) in every
// element.
Value Fill(Value dims, Value value, std::string_view name = "");
Value ZerosLike(Value x, std::string_view name = "");
Value OnesLike(Value x, std::string_view name = "");

// Returns params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]. An index out
// of range is an Error kData. The gradient along axis 0 is IndexedSlices.
Value GatherV2(Value params, Value indices, int axis = 0, int batch_dims = 0,
               std::string_view name = "");
// Returns the slices of params that indices [..., depth] select on its first `depth` axes:
// indices.shape[:-1] + params.shape[depth:]. An index out of range is an Error kData.
Value GatherNd(Value params, Value indices, std::string_view name = "");
// Returns zeros of `shape` with updates added to the slices that the indices select, as in
// GatherNd.
Value ScatterNd(Value indices, Value updates, Value shape, std::string_view name = "");
struct OneHotOptions {
  int depth = 0;
  DType dtype = DType::kFloat;
  double on_value = 1;
  double off_value = 0;
  int axis = -1;
};
// An index outside [0, depth) gives a row of off_value.
Value OneHot(Value indices, const OneHotOptions& options, std::string_view name = "");
// Returns [start, start + delta, ...), below limit. Scalars of one dtype.
Value Range(Value start, Value limit, Value delta, std::string_view name = "");
// Returns the position of the largest (smallest) element along an axis, the first of equal ones, in
// x's shape without that axis.
Value ArgMax(Value x, int axis, DType output_type = DType::kInt64, std::string_view name = "");
Value ArgMin(Value x, int axis, DType output_type = DType::kInt64, std::string_view name = "");

struct TopKResult {
  Value values;   // [..., k], largest first; of equal values the first comes first
  Value indices;  // int32 [..., k]
};
TopKResult TopKV2(Value x, int k, std::string_view name = "");
// predictions float [B, classes], targets int32 or int64 [B] -> bool [B]: true if fewer than k
// classes score higher than the target, which must be in range and finite.
Value InTopKV2(Value predictions, Value targets, int k, std::string_view name = "");

struct UniqueResult {
  Value y;    // the distinct numbers, in the order of their first occurrence
  Value idx;  // out_idx [n]: x[i] == y[idx[i]]
};
// x int32 or int64 [n]. In tpuest y has n numbers: the distinct ones, then -1.
UniqueResult Unique(Value x, DType out_idx = DType::kInt32, std::string_view name = "");

OpFamily SourceOps();    // Const, Placeholder, Fill, ZerosLike, OnesLike, Range
OpFamily IdentityOps();  // Identity, StopGradient, PreventGradient, NoOp
OpFamily ShapeOps();     // Reshape, Shape, Size, Rank, ExpandDims, Squeeze, BroadcastArgs
OpFamily JoinOps();      // ConcatV2, Pack, Unpack
OpFamily SplitOps();     // Split, SplitV
OpFamily ReverseOps();   // ReverseV2, ReverseSequence
OpFamily BandOps();      // MatrixBandPart
OpFamily SliceOps();     // StridedSlice, StridedSliceGrad, Slice, Pad
OpFamily LayoutOps();    // Transpose, Tile, BroadcastTo
OpFamily GatherOps();    // GatherV2, OneHot
OpFamily GatherNdOps();  // GatherNd, ScatterNd
OpFamily UniqueOps();    // Unique
OpFamily WhereOps();     // Where
OpFamily StitchOps();    // DynamicPartition, DynamicStitch, ParallelDynamicStitch
OpFamily RankingOps();   // ArgMax, ArgMin, TopKV2, InTopKV2

}  // namespace tpuest::ops
