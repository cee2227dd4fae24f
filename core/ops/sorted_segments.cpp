// Sums of rows by segment, which are numbered from 0 in ascending order: sums, means, and sums
// divided by the square root of the number of rows. They run as UnsortedSegmentSum.

#include <algorithm>

#include "core/graph/flops.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

enum class Combiner { kSum, kMean, kSqrtN };

Combiner CombinerOf(const Node& node) {
  if (node.type().find("Mean") != std::string_view::npos) return Combiner::kMean;
  return node.type().find("SqrtN") != std::string_view::npos ? Combiner::kSqrtN : Combiner::kSum;
}

bool PicksRows(const Node& node) { return node.type().starts_with("Sparse"); }

// The position of the segment ids among the inputs.
int SegmentIdsInput(const Node& node) { return PicksRows(node) ? 2 : 1; }

bool IsGivenSegments(const Node& node) { return node.inputs().size() == 4; }

// One more than the last id.
int64_t CountSegments(const Node& node, const std::vector<int64_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t before = i == 0 ? 0 : ids[i - 1];
    if (ids[i] < before) {
      FailInData(node,
                 fmt::format("segment id {} is {}, after {}: ids must be sorted and start at 0", i,
                             ids[i], before));
    }
  }
  const int64_t count = ids.empty() ? 0 : ids.back() + 1;
  if (count > kMostSizedRows)
    FailInData(node, fmt::format("segment id {} is too large", count - 1));
  return count;
}

int64_t SegmentsOf(ShapeContext& context) {
  const Node& node = context.node();
  const auto ids = KnownIntegers(context, SegmentIdsInput(node));
  int64_t segments = ids ? CountSegments(node, *ids) : kUnknownDim;
  if (!IsGivenSegments(node)) return segments;
  const Tensor given = context.Constant(3);
  if (!given.valid()) return kUnknownDim;
  const int64_t count = OneNumber(context, given, "num_segments");
  if (count < 0 || count > kMostSizedRows || segments > count) {
    FailInData(node, fmt::format("num_segments is {}, but segment ids go up to {}", count,
                                 std::max<int64_t>(segments - 1, 0)));
  }
  return count;
}

void SortedSegmentShape(ShapeContext& context) {
  const int ids = SegmentIdsInput(context.node());
  NeedRank(context, context.Input(ids), 1, "segment_ids");
  if (ids == 2) NeedRank(context, context.Input(1), 1, "indices");
  (void)SharedRows(context, ids - 1, ids);
  const int64_t segments = SegmentsOf(context);
  const Shape& data = context.Input(0);
  if (!data.known_rank()) return context.Output(0, Shape::UnknownRank());
  if (data.rank() == 0) context.Fail("data must have rows, found a number");
  Shape shape = data;
  shape.set_dim(0, segments);
  context.Output(0, shape);
}

BoundOp BindSortedSegments(const Node& node) {
  return SizedByInputs(node, {IsGivenSegments(node) ? 3 : SegmentIdsInput(node)});
}

// Returns the divisor of each segment's sum, [segments, 1, ...] of `rank`.
Value SegmentDivisors(Combiner combiner, Value ids, Value segments, DType dtype, int rank) {
  const Value ones = OnesLike(Cast(ids, dtype));
  Value counts = Maximum(UnsortedSegmentSum(ones, ids, segments), 1.0);
  if (combiner == Combiner::kSqrtN) counts = Sqrt(counts);
  for (int axis = 1; axis < rank; ++axis) counts = ExpandDims(counts, -1);
  return counts;
}

bool ExpandSegments(Node& node, std::vector<Value>& results) {
  const Combiner combiner = CombinerOf(node);
  const Value ids = node.input(SegmentIdsInput(node));
  const Value segments = node.graph().Scalar<int64_t>(node.output_shape(0).dim(0), "num_segments");
  Value rows = PicksRows(node) ? GatherV2(node.input(0), node.input(1)) : node.input(0);
  const DType dtype = rows.dtype();
  // Rounds once, after the division.
  const bool rounds = dtype == DType::kBfloat16 && combiner != Combiner::kSum;
  if (rounds) rows = Cast(rows, DType::kFloat);
  Value sums = UnsortedSegmentSum(rows, ids, segments);
  if (combiner != Combiner::kSum) {
    sums =
        RealDiv(sums, SegmentDivisors(combiner, ids, segments, rows.dtype(), rows.shape().rank()));
  }
  results = {rounds ? Cast(sums, dtype) : sums};
  return true;
}

// Each row gets the gradient of its segment; a row that is picked twice gets both.
void SortedSegmentGrad(GradContext& c) {
  const Combiner combiner = CombinerOf(c.node());
  const Value ids = c.input(SegmentIdsInput(c.node()));
  Value dy = c.Dy();
  if (combiner != Combiner::kSum) {
    const Value segments =
        StridedSlice(ShapeOf(dy), {.begin = {0}, .end = {1}, .shrink_axis_mask = 1});
    dy = RealDiv(dy, SegmentDivisors(combiner, ids, segments, dy.dtype(), dy.shape().rank()));
  }
  const Value rows = GatherV2(dy, ids);
  if (!PicksRows(c.node())) return c.SetDx(0, rows);
  const Value count =
      StridedSlice(ShapeOf(c.input(0)), {.begin = {0}, .end = {1}, .shrink_axis_mask = 1});
  c.SetDx(0, UnsortedSegmentSum(rows, c.input(1), count));
}

constexpr std::string_view kPickedSums =
    "data: T, indices: Tidx, segment_ids: Tsegmentids -> output: T; "
    "T: bfloat16|float|double|int32|int64; Tidx: int32|int64 = int32; "
    "Tsegmentids: int32|int64 = int32; sparse_gradient: bool = false";
constexpr std::string_view kPickedMeans =
    "data: T, indices: Tidx, segment_ids: Tsegmentids -> output: T; T: bfloat16|float|double; "
    "Tidx: int32|int64 = int32; Tsegmentids: int32|int64 = int32; sparse_gradient: bool = false";
constexpr std::string_view kPickedSumsOfCount =
    "data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments -> output: T; "
    "T: bfloat16|float|double|int32|int64; Tidx: int32|int64 = int32; "
    "Tnumsegments: int32|int64 = int32; Tsegmentids: int32|int64 = int32; "
    "sparse_gradient: bool = false";
constexpr std::string_view kPickedMeansOfCount =
    "data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments -> output: T; "
    "T: bfloat16|float|double; Tidx: int32|int64 = int32; "
    "Tnumsegments: int32|int64 = int32; Tsegmentids: int32|int64 = int32; "
    "sparse_gradient: bool = false";

constexpr OpDef SortedSegments(std::string_view name, std::string_view signature) {
  return {.name = name,
          .signature = signature,
          .shape = SortedSegmentShape,
          .grad = SortedSegmentGrad,
          .expand = ExpandSegments,
          .bind = BindSortedSegments,
          .flops = InputFlops};
}

const OpDef kSortedSegmentOps[] = {
    SortedSegments("SegmentSum",
                   "data: T, segment_ids: Tindices -> output: T; "
                   "T: bfloat16|float|double|int32|int64; Tindices: int32|int64"),
    SortedSegments("SegmentMean",
                   "data: T, segment_ids: Tindices -> output: T; "
                   "T: bfloat16|float|double; Tindices: int32|int64"),
    SortedSegments("SparseSegmentSum", kPickedSums),
    SortedSegments("SparseSegmentMean", kPickedMeans),
    SortedSegments("SparseSegmentSqrtN", kPickedMeans),
    SortedSegments("SparseSegmentSumWithNumSegments", kPickedSumsOfCount),
    SortedSegments("SparseSegmentMeanWithNumSegments", kPickedMeansOfCount),
    SortedSegments("SparseSegmentSqrtNWithNumSegments", kPickedMeansOfCount),
};

}  // namespace

OpFamily SortedSegmentOps() { return kSortedSegmentOps; }

}  // namespace tpuest::ops
