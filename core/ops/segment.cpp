// Sums by row number.

#include <algorithm>

#include "core/graph/flops.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_math.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value UnsortedSegmentSum(Value data, Value segment_ids, int64_t num_segments,
                         std::string_view name) {
  Graph& graph = data.graph();
  const Value rows =
      num_segments > INT32_MAX
          ? graph.Scalar<int64_t>(num_segments, "num_segments")
          : graph.Scalar<int32_t>(static_cast<int32_t>(num_segments), "num_segments");
  return UnsortedSegmentSum(data, segment_ids, rows, name);
}

Value UnsortedSegmentSum(Value data, Value segment_ids, Value num_segments, std::string_view name) {
  return data.graph().Add("UnsortedSegmentSum", {data, segment_ids, num_segments}, {}, name);
}

namespace {

void SegmentShape(ShapeContext& context) {
  const Shape& data = context.Input(0);
  const Shape& ids = context.Input(1);
  const Tensor rows = context.Constant(2);
  if (!data.known_rank() || !ids.known_rank()) return context.Output(0, Shape::UnknownRank());
  const auto split = std::min(data.dims().size(), ids.dims().size());
  const Shape front(
      std::vector<int64_t>(data.dims().begin(), data.dims().begin() + static_cast<long>(split)));
  if (!Compatible(front, ids)) {
    context.Fail(
        fmt::format("segment_ids {} are not the first axes of data {}", ids.Text(), data.Text()));
  }
  const int64_t segments = rows.valid() ? OneNumber(context, rows, "num_segments") : kUnknownDim;
  if (rows.valid() && segments < 0) context.Fail(fmt::format("num_segments is {}", segments));
  std::vector<int64_t> dims = {segments};
  dims.insert(dims.end(), data.dims().begin() + static_cast<long>(split), data.dims().end());
  context.Output(0, Shape(dims));
}

// Each element of data gets its segment's gradient; dropped elements get none.
void SegmentGrad(GradContext& c) {
  const Value ids = c.input(1);
  const Value zero = c.graph().ScalarOf(ids.dtype(), 0);
  const Value kept = GreaterEqual(ids, zero);
  const Value rows = GatherV2(c.Dy(), Maximum(ids, zero));
  Value mask = Cast(kept, c.Dy().dtype());
  for (int d = ids.shape().rank(); d < rows.shape().rank(); ++d) mask = ExpandDims(mask, -1);
  c.SetDx(0, Mul(rows, mask));
}

template <class Wide, class T, class Index>
void SumSegments(const T* data, const Index* ids, int64_t count, int64_t inner, int64_t rows,
                 Wide* sums, const std::string& node) {
  std::fill_n(sums, rows * inner, Wide(0));
  for (int64_t i = 0; i < count; ++i, data += inner) {
    const auto row = static_cast<int64_t>(ids[i]);
    if (row < 0) continue;
    if (row >= rows) {
      throw Error(Code::kData,
                  fmt::format("UnsortedSegmentSum '{}': id {} is out of range for {} rows", node,
                              row, rows));
    }
    Wide* const sum = sums + row * inner;
    for (int64_t k = 0; k < inner; ++k) sum[k] += ConvertTo<Wide>(data[k]);
  }
}

struct SegmentPlan {
  Buffer data, ids, out, sums;
  int64_t count, inner, rows;
  bool wide_ids;
  std::string node;
};

// bfloat16 is summed in float and rounded once; other dtypes are summed in place.
template <class T>
void RunSegments(const SegmentPlan& plan, const Task& task) {
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  constexpr bool kRounds = !std::is_same_v<Wide, T>;
  Wide* const sums = task.At<Wide>(kRounds ? plan.sums : plan.out);
  const T* const data = task.At<T>(plan.data);
  if (plan.wide_ids) {
    SumSegments(data, task.At<int64_t>(plan.ids), plan.count, plan.inner, plan.rows, sums,
                plan.node);
  } else {
    SumSegments(data, task.At<int32_t>(plan.ids), plan.count, plan.inner, plan.rows, sums,
                plan.node);
  }
  if constexpr (kRounds) {
    T* const out = task.At<T>(plan.out);
    for (int64_t i = 0; i < plan.rows * plan.inner; ++i) out[i] = ConvertTo<T>(sums[i]);
  }
}

void PlanSegmentSum(PlanContext& context) {
  const Shape& out = context.OutputShape(0);
  SegmentPlan plan{.data = context.Input(0),
                   .ids = context.Input(1),
                   .out = context.Output(0),
                   .sums = {},
                   .count = context.InputShape(1).elements(),
                   .inner = 1,
                   .rows = out.dim(0),
                   .wide_ids = context.InputDType(1) == DType::kInt64,
                   .node = context.node().name()};
  for (int d = 1; d < out.rank(); ++d) plan.inner *= out.dim(d);
  switch (context.OutputDType(0)) {
    case DType::kFloat:
      return context.Run([=](const Task& task) { RunSegments<float>(plan, task); });
    case DType::kDouble:
      return context.Run([=](const Task& task) { RunSegments<double>(plan, task); });
    case DType::kInt32:
      return context.Run([=](const Task& task) { RunSegments<int32_t>(plan, task); });
    case DType::kInt64:
      return context.Run([=](const Task& task) { RunSegments<int64_t>(plan, task); });
    default:
      plan.sums = context.Scratch(static_cast<size_t>(out.elements()) * sizeof(float));
      return context.Run([=](const Task& task) { RunSegments<bfloat16>(plan, task); });
  }
}

// bfloat16 is summed in float and rounded once. Ids out of range are dropped.
void LowerSegmentSum(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloTerm data = WideInput(c, 0);
  const HloValue ids = c.Input(1);
  std::vector<int64_t> dims = c.OutputShape(0).dims();
  dims[0] = ids.shape.elements();
  const HloTerm sums(
      hlo, hlo.ScatterRows("add", hlo.Full(data.dtype(), c.OutputShape(0), 0),
                           hlo.Reshape(ids, {dims[0]}), hlo.Reshape(data.value(), Shape(dims))));
  c.Output(0, sums.As(c.OutputDType(0)).value());
}

// The sums are not split into blocks: rows are summed in order, without a table per block.
const OpDef kSegmentOps[] = {
    {.name = "UnsortedSegmentSum",
     .signature = "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T; "
                  "T: bfloat16|float|double|int32|int64; Tindices: int32|int64; "
                  "Tnumsegments: int32|int64 = int32",
     .shape = SegmentShape,
     .grad = SegmentGrad,
     .cpu = PlanSegmentSum,
     .hlo = LowerSegmentSum,
     .flops = InputFlops},
};

}  // namespace

OpFamily SegmentOps() { return kSegmentOps; }

}  // namespace tpuest::ops
