// Gathers and adds slices by indices of several axes: the last axis of the indices, [..., depth],
// is a position on the first `depth` axes of the other tensor.

#include <algorithm>
#include <cstring>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/hlo_math.h"
#include "core/ops/shape_rules.h"
#include "core/tensor/elements.h"

namespace tpuest::ops {

Value GatherNd(Value params, Value indices, std::string_view name) {
  return params.graph().Add("GatherNd", {params, indices}, {}, name);
}

Value ScatterNd(Value indices, Value updates, Value shape, std::string_view name) {
  return indices.graph().Add("ScatterNd", {indices, updates, shape}, {}, name);
}

namespace {

// The slices of a tensor that indices [..., depth] select.
struct NdSlices {
  int64_t count = 1;           // indices
  std::vector<int64_t> outer;  // the axes that an index covers
  int64_t inner = 1;           // elements per slice
};

NdSlices NdSlicesOf(const Shape& whole, const Shape& indices) {
  NdSlices slices;
  const std::vector<int64_t>& places = indices.dims();
  for (size_t d = 0; d + 1 < places.size(); ++d) slices.count *= places[d];
  const std::vector<int64_t>& dims = whole.dims();
  const auto depth = static_cast<size_t>(places.back());
  slices.outer.assign(dims.begin(), dims.begin() + static_cast<long>(depth));
  for (size_t d = depth; d < dims.size(); ++d) slices.inner *= dims[d];
  return slices;
}

// Checks that the tensor has as many axes as the indices have coordinates.
void CheckNdDepth(const ShapeContext& context, const Shape& whole, const Shape& indices) {
  if (indices.rank() == 0) context.Fail("indices must be at least a vector, found a number");
  if (indices.dim(-1) != kUnknownDim && indices.dim(-1) > whole.rank()) {
    context.Fail(
        fmt::format("indices {} name more axes than {} has", indices.Text(), whole.Text()));
  }
}

// The shape of the gathered slices: the shape of the indices without their last axis, then that of
// a slice.
Shape NdSlicesShape(const Shape& whole, const Shape& indices) {
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), whole.dims().begin() + indices.dim(-1), whole.dims().end());
  return Shape(std::move(dims));
}

// The number of the slice that index i selects. Throws Error kData if it does not exist.
template <class Index>
int64_t NdPlace(const NdSlices& slices, const Index* indices, int64_t i, const Node& node) {
  const auto depth = static_cast<int64_t>(slices.outer.size());
  int64_t place = 0;
  for (int64_t axis = 0; axis < depth; ++axis) {
    const auto at = static_cast<int64_t>(indices[i * depth + axis]);
    const int64_t size = slices.outer[static_cast<size_t>(axis)];
    if (at < 0 || at >= size) [[unlikely]] {
      FailInData(node, fmt::format("index {} of axis {} is out of range for {}", at, axis,
                                   Shape(slices.outer).Text()));
    }
    place = place * size + at;
  }
  return place;
}

// Calls fn(number of the slice of index i) for each index.
template <class Fn>
void ForEachNdPlace(const NdSlices& slices, const Task& task, Buffer indices, bool wide,
                    const Node& node, Fn&& fn) {
  for (int64_t i = 0; i < slices.count; ++i) {
    fn(i, wide ? NdPlace(slices, task.At<int64_t>(indices), i, node)
               : NdPlace(slices, task.At<int32_t>(indices), i, node));
  }
}

void GatherNdShape(ShapeContext& context) {
  const Shape& params = context.Input(0);
  const Shape& indices = context.Input(1);
  if (!params.known_rank() || !indices.known_rank()) {
    return context.Output(0, Shape::UnknownRank());
  }
  CheckNdDepth(context, params, indices);
  if (indices.dim(-1) == kUnknownDim) return context.Output(0, Shape::UnknownRank());
  context.Output(0, NdSlicesShape(params, indices));
}

Rows GatherNdRows(RowContext& context) {
  const bool of_rows = context.IsCut(1) && !context.IsCut(0) && context.Input(1).rank() > 1;
  return of_rows ? Rows::kEach : Rows::kWhole;
}

void GatherNdGrad(GradContext& c) {
  const Value shape = ShapeOf(c.input(0), c.input(1).dtype());
  c.SetDx(0, ScatterNd(c.input(1), c.Dy(), shape));
}

void PlanGatherNd(PlanContext& context) {
  const NdSlices slices = NdSlicesOf(context.InputShape(0), context.InputShape(1));
  const size_t bytes = static_cast<size_t>(slices.inner) * ElementBytes(context.OutputDType(0));
  const Node* const node = &context.node();
  const bool wide = context.InputDType(1) == DType::kInt64;
  const Buffer params = context.Input(0);
  const Buffer indices = context.Input(1);
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) {
    const char* const from = task.At<char>(params);
    char* const to = task.At<char>(out);
    ForEachNdPlace(slices, task, indices, wide, *node, [&](int64_t i, int64_t place) {
      std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(place) * bytes,
                  bytes);
    });
  });
}

// The numbers [count] of the slices that the indices select.
HloValue NdPlaces(HloBuilder& hlo, const NdSlices& slices, const HloValue& indices) {
  const auto depth = static_cast<int64_t>(slices.outer.size());
  const HloValue flat = hlo.Reshape(indices, Shape({slices.count, depth}));
  HloTerm place(hlo, hlo.Full(indices.dtype, Shape({slices.count}), 0));
  for (int64_t axis = 0; axis < depth; ++axis) {
    const HloValue at = hlo.Reshape(hlo.Slice(flat, {0, axis}, {slices.count, axis + 1}, {1, 1}),
                                    Shape({slices.count}));
    place = place * static_cast<double>(slices.outer[static_cast<size_t>(axis)]) + HloTerm(hlo, at);
  }
  return place.value();
}

int64_t NdSliceCount(const NdSlices& slices) {
  int64_t count = 1;
  for (const int64_t size : slices.outer) count *= size;
  return count;
}

// An index out of range takes the nearest slice.
void LowerGatherNd(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue params = c.Input(0);
  const HloValue indices = c.Input(1);
  const NdSlices slices = NdSlicesOf(params.shape, indices.shape);
  const HloValue rows = hlo.Reshape(params, Shape({NdSliceCount(slices), slices.inner}));
  const HloValue picked = hlo.GatherRows(rows, NdPlaces(hlo, slices, indices));
  c.Output(0, hlo.Reshape(picked, c.OutputShape(0)));
}

void ScatterNdShape(ShapeContext& context) {
  const Shape& indices = context.Input(0);
  const Shape& updates = context.Input(1);
  const Shape whole = ShapeFromValue(context.node().input(2));
  NeedRank(context, context.Input(2), 1, "shape");
  if (whole.known_rank() && !IsCountable(whole)) {
    FailInData(context.node(), fmt::format("no tensor can have the shape {}", whole.Text()));
  }
  context.Output(0, whole);
  if (!whole.known_rank() || !indices.known_rank()) return;
  CheckNdDepth(context, whole, indices);
  if (indices.dim(-1) == kUnknownDim) return;
  if (Compatible(NdSlicesShape(whole, indices), updates)) return;
  context.Fail(fmt::format("updates {} are not the slices of {} that indices {} name",
                           updates.Text(), whole.Text(), indices.Text()));
}

void ScatterNdGrad(GradContext& c) { c.SetDx(1, GatherNd(c.Dy(), c.input(0))); }

// Adds slices that are selected twice; bfloat16 is summed in float and rounded once.
template <class T>
struct NdSum {
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  static constexpr bool kRounds = !std::is_same_v<Wide, T>;
};

template <class T>
void PlanScatterNdOf(PlanContext& context) {
  using Wide = typename NdSum<T>::Wide;
  const NdSlices slices = NdSlicesOf(context.OutputShape(0), context.InputShape(0));
  const int64_t elements = context.OutputShape(0).elements();
  const Node* const node = &context.node();
  const bool wide = context.InputDType(0) == DType::kInt64;
  const Buffer indices = context.Input(0);
  const Buffer updates = context.Input(1);
  const Buffer out = context.Output(0);
  const Buffer sums =
      NdSum<T>::kRounds ? context.Scratch(static_cast<size_t>(elements) * sizeof(Wide)) : out;
  context.Run([=](const Task& task) {
    Wide* const to = task.At<Wide>(sums);
    std::fill_n(to, elements, Wide(0));
    const T* const from = task.At<T>(updates);
    ForEachNdPlace(slices, task, indices, wide, *node, [&](int64_t i, int64_t place) {
      for (int64_t k = 0; k < slices.inner; ++k) {
        to[place * slices.inner + k] += ConvertTo<Wide>(from[i * slices.inner + k]);
      }
    });
    if constexpr (NdSum<T>::kRounds) {
      std::transform(to, to + elements, task.At<T>(out), [](Wide x) { return ConvertTo<T>(x); });
    }
  });
}

void PlanScatterNd(PlanContext& context) {
  switch (context.OutputDType(0)) {
    case DType::kFloat:
      return PlanScatterNdOf<float>(context);
    case DType::kDouble:
      return PlanScatterNdOf<double>(context);
    case DType::kInt32:
      return PlanScatterNdOf<int32_t>(context);
    case DType::kInt64:
      return PlanScatterNdOf<int64_t>(context);
    default:
      return PlanScatterNdOf<bfloat16>(context);
  }
}

// Drops an index that selects no slice of the result.
void LowerScatterNd(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue indices = c.Input(0);
  const HloTerm updates = WideInput(c, 1);
  const NdSlices slices = NdSlicesOf(c.OutputShape(0), indices.shape);
  const HloValue none = hlo.Full(updates.dtype(), Shape({NdSliceCount(slices), slices.inner}), 0);
  const HloTerm sums(
      hlo, hlo.ScatterRows("add", none, NdPlaces(hlo, slices, indices),
                           hlo.Reshape(updates.value(), Shape({slices.count, slices.inner}))));
  c.Output(0, hlo.Reshape(sums.As(c.OutputDType(0)).value(), c.OutputShape(0)));
}

const OpDef kGatherNdOps[] = {
    {.name = "GatherNd",
     .signature = "params: Tparams, indices: Tindices -> output: Tparams; Tparams: type; "
                  "Tindices: int32|int64",
     .shape = GatherNdShape,
     .grad = GatherNdGrad,
     .cpu = PlanGatherNd,
     .hlo = LowerGatherNd,
     .rows = GatherNdRows},
    {.name = "ScatterNd",
     .signature = "indices: Tindices, updates: T, shape: Tindices -> output: T; "
                  "T: bfloat16|float|double|int32|int64; Tindices: int32|int64",
     .shape = ScatterNdShape,
     .grad = ScatterNdGrad,
     .cpu = PlanScatterNd,
     .hlo = LowerScatterNd},
};

}  // namespace

OpFamily GatherNdOps() { return kGatherNdOps; }

}  // namespace tpuest::ops
