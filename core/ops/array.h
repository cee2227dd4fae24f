#pragma once
// Ops that make, move and pick elements. Negative axes count from the end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Constants: int32 [values.size()], int64 if a value needs it, and zeros or ones of a known shape.
Value Int32s(Graph& graph, const std::vector<int64_t>& values, std::string_view name = "Const");
Value Zeros(Graph& graph, DType dtype, const Shape& shape, std::string_view name = "zeros");
Value Ones(Graph& graph, DType dtype, const Shape& shape, std::string_view name = "ones");
// A constant with one number everywhere.
Value Full(Graph& graph, DType dtype, const Shape& shape, double value,
           std::string_view name = "Const");

Value Identity(Value x, std::string_view name = "");
Value StopGradient(Value x, std::string_view name = "");
// x; differentiating through it is an Error that says `message`.
Value PreventGradient(Value x, std::string_view message, std::string_view name = "");
// A node that does nothing, after all of `nodes` (tf.group).
Node* NoOp(Graph& graph, const std::vector<Node*>& nodes, std::string_view name = "");

// At most one dimension of `shape` is kUnknownDim: it is worked out.
Value Reshape(Value x, const Shape& shape, std::string_view name = "");
Value Reshape(Value x, Value shape, std::string_view name = "");
// [B, ...] -> [B, product of the others].
Value FlattenRows(Value x, std::string_view name = "");
// tf.shape, tf.size, tf.rank. (tpuest::Shape is the type.)
Value ShapeOf(Value x, DType out_type = DType::kInt32, std::string_view name = "");
Value Size(Value x, DType out_type = DType::kInt32, std::string_view name = "");
Value Rank(Value x, std::string_view name = "");
Value ExpandDims(Value x, int axis, std::string_view name = "");
// Drops axes of 1; without `axes` every dimension that is known to be 1.
Value Squeeze(Value x, const std::vector<int64_t>& axes = {}, std::string_view name = "");

Value ConcatV2(std::vector<Value> values, int axis, std::string_view name = "");
// Stacks values of one shape along a new axis (tf.stack).
Value Pack(std::vector<Value> values, int axis = 0, std::string_view name = "");
// The slices along an axis of known size (tf.unstack).
std::vector<Value> Unpack(Value x, int axis = 0, std::string_view name = "");

// Python's x[begin:end:stride, ...]; bit i of a mask is about position i.
struct StridedSliceOptions {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  std::vector<int64_t> strides;  // empty: all 1
  int64_t begin_mask = 0;        // from the very first
  int64_t end_mask = 0;          // to the very last
  int64_t ellipsis_mask = 0;     // stands for all positions that are left
  int64_t new_axis_mask = 0;     // inserts an axis of 1
  int64_t shrink_axis_mask = 0;  // takes begin and drops the axis
};
Value StridedSlice(Value x, const StridedSliceOptions& options, std::string_view name = "");
// x[begin : begin + size] on each axis; size -1 goes to the end.
Value Slice(Value x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size,
            std::string_view name = "");
// Zeros around x: paddings[axis] = {before, after}.
Value Pad(Value x, const std::vector<std::pair<int64_t, int64_t>>& paddings,
          std::string_view name = "");
// y.shape[i] = x.shape[perm[i]].
Value Transpose(Value x, const std::vector<int64_t>& perm, std::string_view name = "");
Value Tile(Value x, const std::vector<int64_t>& multiples, std::string_view name = "");
Value BroadcastTo(Value x, Value shape, std::string_view name = "");
Value BroadcastTo(Value x, const Shape& shape, std::string_view name = "");
// The shape that two shapes (int32 or int64 [rank]) broadcast to, computed on the host, ahead of
// the step. Where they do not: Error kData at the node's place, in TensorFlow's words, or
// `refusal`, in which %0 and %1 stand for the first numbers of both, with its way out.
struct BroadcastRefusal {
  std::string text;
  std::string way_out;
};
Value BroadcastArgs(Value s0, Value s1, const BroadcastRefusal& refusal = {},
                    std::string_view name = "");
// `value` (a scalar) in a tensor of shape `dims` (int32 or int64 [rank]).
Value Fill(Value dims, Value value, std::string_view name = "");
Value ZerosLike(Value x, std::string_view name = "");
Value OnesLike(Value x, std::string_view name = "");

// params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]. An index outside is
// an Error kData. The gradient along axis 0 is IndexedSlices.
Value GatherV2(Value params, Value indices, int axis = 0, int batch_dims = 0,
               std::string_view name = "");
// The slices of params that indices [..., depth] name on its first `depth` axes:
// indices.shape[:-1] + params.shape[depth:]. An index outside is an Error kData.
Value GatherNd(Value params, Value indices, std::string_view name = "");
// Zeros of `shape`, with updates added to the slices that the indices name, as GatherNd's.
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
// [start, start + delta, ...), below limit. Scalars of one dtype.
Value Range(Value start, Value limit, Value delta, std::string_view name = "");
// The position of the largest (smallest) along an axis, the first of equals. x's shape without the
// axis.
Value ArgMax(Value x, int axis, DType output_type = DType::kInt64, std::string_view name = "");
Value ArgMin(Value x, int axis, DType output_type = DType::kInt64, std::string_view name = "");

struct TopKResult {
  Value values;   // [..., k], largest first; of equals the one that stands first
  Value indices;  // int32 [..., k]
};
TopKResult TopKV2(Value x, int k, std::string_view name = "");
// predictions float [B, classes], targets int32 or int64 [B] -> bool [B]: fewer than k classes
// score higher than the target, which is in range and finite.
Value InTopKV2(Value predictions, Value targets, int k, std::string_view name = "");

struct UniqueResult {
  Value y;    // the distinct numbers, in the order in which they first occur
  Value idx;  // out_idx [n]: x[i] is y[idx[i]]
};
// x int32 or int64 [n]. Where a graph runs here, y has n numbers: -1 behind the distinct ones.
UniqueResult Unique(Value x, DType out_idx = DType::kInt32, std::string_view name = "");

OpFamily SourceOps();    // Const, Placeholder, Fill, ZerosLike, OnesLike, Range
OpFamily IdentityOps();  // Identity, StopGradient, PreventGradient, NoOp
OpFamily ShapeOps();     // Reshape, Shape, Size, Rank, ExpandDims, Squeeze, BroadcastArgs
OpFamily JoinOps();      // ConcatV2, Pack, Unpack
OpFamily SliceOps();     // StridedSlice, StridedSliceGrad, Slice, Pad
OpFamily LayoutOps();    // Transpose, Tile, BroadcastTo
OpFamily GatherOps();    // GatherV2, OneHot
OpFamily GatherNdOps();  // GatherNd, ScatterNd
OpFamily UniqueOps();    // Unique
OpFamily WhereOps();     // Where
OpFamily StitchOps();    // DynamicPartition, DynamicStitch, ParallelDynamicStitch
OpFamily RankingOps();   // ArgMax, ArgMin, TopKV2, InTopKV2

}  // namespace tpuest::ops
