// Lookups by index.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value GatherV2(Value params, Value indices, int axis, int batch_dims, std::string_view name) {
  const Value axis_value = params.graph().Scalar<int32_t>(axis, "axis");
  return params.graph().Add("GatherV2", {params, indices, axis_value},
                            {{"batch_dims", int64_t{batch_dims}}}, name);
}

Value OneHot(Value indices, const OneHotOptions& options, std::string_view name) {
  Graph& graph = indices.graph();
  return graph.Add("OneHot",
                   {indices, graph.Scalar<int32_t>(options.depth, "depth"),
                    graph.ScalarOf(options.dtype, options.on_value, "on_value"),
                    graph.ScalarOf(options.dtype, options.off_value, "off_value")},
                   {{"axis", int64_t{options.axis}}}, name);
}

namespace {

// The axes of a gather: params are [batch, outer, rows, inner], indices [batch, count].
struct GatherAxes {
  int64_t axis = 0;
  int64_t batch_dims = 0;
};

std::optional<GatherAxes> GatherAxesOf(const Node& node, const Shape& params,
                                       const Shape& indices) {
  const Tensor axis = ConstantValue(node.input(2));
  if (!axis.valid() || !params.known_rank() || !indices.known_rank()) return std::nullopt;
  return GatherAxes{NormalAxis(IntsOf(axis)[0], params.rank()),
                    NormalAxis(node.Attr<int64_t>("batch_dims"), indices.rank())};
}

void GatherShape(ShapeContext& context) {
  const Shape& params = context.Input(0);
  const Shape& indices = context.Input(1);
  const Tensor axis = context.Constant(2);
  if (axis.valid()) (void)OneNumber(context, axis, "axis");
  const auto axes = GatherAxesOf(context.node(), params, indices);
  if (!axes) return context.Output(0, Shape::UnknownRank());
  if (axes->axis < 0 || axes->axis >= params.rank() || axes->batch_dims < 0 ||
      axes->batch_dims > std::min<int64_t>(indices.rank(), axes->axis)) {
    context.Fail(fmt::format("axis {} and batch_dims {} do not fit params {} and indices {}",
                             axes->axis, axes->batch_dims, params.Text(), indices.Text()));
  }
  std::vector<int64_t> dims(params.dims().begin(), params.dims().begin() + axes->axis);
  for (int64_t d = 0; d < axes->batch_dims; ++d) {
    int64_t& dim = dims[static_cast<size_t>(d)];
    const int64_t other = indices.dims()[static_cast<size_t>(d)];
    if (dim != kUnknownDim && other != kUnknownDim && dim != other) {
      context.Fail(fmt::format("params {} and indices {} differ on batch axis {}", params.Text(),
                               indices.Text(), d));
    }
    if (dim == kUnknownDim) dim = other;
  }
  dims.insert(dims.end(), indices.dims().begin() + axes->batch_dims, indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + axes->axis + 1, params.dims().end());
  context.Output(0, Shape(dims));
}

// The number of rows of params, which must be known.
int64_t GatheredRowsOf(const Value& params, int64_t axis) {
  const int64_t rows = params.shape().dim(static_cast<int>(axis));
  if (rows == kUnknownDim) {
    throw Error(Code::kUsage,
                fmt::format("the gradient of a gather from '{}' {} needs the number of its rows",
                            params.name(), params.shape().Text()))
        .At(params.node->origin());
  }
  return rows;
}

// The gradient along axis 0 contains only the rows that were looked up.
void GradOfRows(GradContext& c) {
  const Value params = c.input(0);
  std::vector<int64_t> dims = params.shape().dims();
  dims[0] = kUnknownDim;
  c.SetDx(0, IndexedSlices{Reshape(c.Dy(), Shape(dims)), Reshape(c.input(1), Shape({kUnknownDim})),
                           GatheredRowsOf(params, 0)});
}

// Returns the position of each column among the indices, or the number of indices for a column that
// is not among them. Returns nullopt unless the indices are a constant list without repeats.
std::optional<std::vector<int64_t>> ColumnPlaces(const Value& indices, int64_t columns) {
  const Tensor known = ConstantValue(indices);
  if (!known.valid() || known.shape().rank() != 1) return std::nullopt;
  const int64_t count = known.shape().dim(0);
  std::vector<int64_t> places(static_cast<size_t>(columns), count);
  for (int64_t i = 0; i < count; ++i) {
    const auto column = static_cast<int64_t>(known.AsDouble(i));
    if (column < 0 || column >= columns) return std::nullopt;
    int64_t& place = places[static_cast<size_t>(column)];
    if (place != count) return std::nullopt;
    place = i;
  }
  return places;
}

// The gradient along another axis if each column is taken at most once: each column of dx is one
// column of dy, or the zeros padded after them.
bool GradOfDistinctColumns(GradContext& c, int64_t axis) {
  const Value params = c.input(0);
  const auto places = ColumnPlaces(c.input(1), GatheredRowsOf(params, axis));
  if (!places) return false;
  std::vector<std::pair<int64_t, int64_t>> paddings(static_cast<size_t>(params.shape().rank()),
                                                    {0, 0});
  paddings[static_cast<size_t>(axis)].second = 1;
  c.SetDx(0, GatherV2(Pad(c.Dy(), paddings), Int32s(c.graph(), *places, "places"),
                      static_cast<int>(axis)));
  return true;
}

// The gradient along another axis: moves the index axes of dy to the front, sums by index, and
// moves the axes back.
void GradOfColumns(GradContext& c, int64_t axis) {
  if (GradOfDistinctColumns(c, axis)) return;
  const Value params = c.input(0);
  const int64_t index_rank = c.input(1).shape().rank();
  std::vector<int64_t> perm(static_cast<size_t>(c.Dy().shape().rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + index_rank);
  const Value summed =
      UnsortedSegmentSum(Transpose(c.Dy(), perm), c.input(1), GatheredRowsOf(params, axis));
  std::vector<int64_t> back(static_cast<size_t>(params.shape().rank()));
  std::iota(back.begin(), back.end(), 0);
  std::rotate(back.begin(), back.begin() + 1, back.begin() + 1 + axis);
  c.SetDx(0, Transpose(summed, back));
}

// The gradient if each batch entry has its own rows: dy times the one-hot index, summed over the
// indices.
void GradInBatch(GradContext& c, GatherAxes axes) {
  const Value params = c.input(0);
  if (axes.batch_dims != axes.axis) {
    throw Error(Code::kUsage,
                fmt::format("GatherV2 '{}': no gradient with {} batch dimensions and axis {}",
                            c.node().name(), axes.batch_dims, axes.axis))
        .At(c.node().origin());
  }
  const int index_rank = c.input(1).shape().rank();
  Value hot = OneHot(c.input(1), {.depth = static_cast<int>(GatheredRowsOf(params, axes.axis)),
                                  .dtype = params.dtype()});
  for (int64_t d = axes.axis + 1; d < params.shape().rank(); ++d) hot = ExpandDims(hot, -1);
  const Value product = Mul(hot, ExpandDims(c.Dy(), index_rank));
  std::vector<int64_t> over;
  for (int64_t d = axes.batch_dims; d < index_rank; ++d) over.push_back(d);
  c.SetDx(0, over.empty() ? product : Sum(product, over));
}

void GatherGrad(GradContext& c) {
  const auto axes = GatherAxesOf(c.node(), c.input(0).shape(), c.input(1).shape());
  NeedInGraph(c, axes.has_value(), "the axis and the ranks of its inputs");
  if (axes->batch_dims > 0) return GradInBatch(c, *axes);
  if (axes->axis == 0) return GradOfRows(c);
  GradOfColumns(c, axes->axis);
}

Rows GatherRows(RowContext& context) {
  const auto axes = GatherAxesOf(context.node(), context.Input(0), context.Input(1));
  if (!axes || context.IsCut(2)) return Rows::kWhole;
  if (axes->batch_dims > 0) return AllCut(context, 0, 1);
  if (axes->axis > 0) return context.IsCut(1) ? Rows::kWhole : FirstInputRows(context);
  return context.IsCut(0) ? Rows::kWhole : Rows::kEach;
}

int64_t Product(const std::vector<int64_t>& dims, int64_t first, int64_t last) {
  int64_t product = 1;
  for (int64_t d = first; d < last; ++d) product *= dims[static_cast<size_t>(d)];
  return product;
}

struct GatherSizes {
  int64_t batch, outer, rows, count;
  size_t inner_bytes;
};

template <class Index>
void Gather(const GatherSizes& s, const char* params, const Index* indices, char* out,
            const std::string& node) {
  for (int64_t b = 0; b < s.batch; ++b, indices += s.count) {
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t i = 0; i < s.count; ++i, out += s.inner_bytes) {
        const auto at = static_cast<int64_t>(indices[i]);
        if (at < 0 || at >= s.rows) [[unlikely]] {
          throw Error(
              Code::kData,
              fmt::format("GatherV2 '{}': index {} is out of range for {} rows", node, at, s.rows));
        }
        std::memcpy(out, params + static_cast<size_t>(at) * s.inner_bytes, s.inner_bytes);
      }
      params += static_cast<size_t>(s.rows) * s.inner_bytes;
    }
  }
}

void PlanGather(PlanContext& context) {
  const Shape& params_shape = context.InputShape(0);
  const Shape& indices_shape = context.InputShape(1);
  const auto axes = GatherAxesOf(context.node(), params_shape, indices_shape);
  Check(axes.has_value(), "the axis of '{}' is unknown", context.node().name());
  const std::vector<int64_t>& dims = params_shape.dims();
  const int64_t inner = Product(dims, axes->axis + 1, params_shape.rank());
  const GatherSizes sizes{
      .batch = Product(dims, 0, axes->batch_dims),
      .outer = Product(dims, axes->batch_dims, axes->axis),
      .rows = dims[static_cast<size_t>(axes->axis)],
      .count = Product(indices_shape.dims(), axes->batch_dims, indices_shape.rank()),
      .inner_bytes = static_cast<size_t>(inner) * ElementBytes(context.OutputDType(0))};
  const Buffer params = context.Input(0);
  const Buffer indices = context.Input(1);
  const Buffer out = context.Output(0);
  const std::string name = context.node().name();
  const bool wide = context.InputDType(1) == DType::kInt64;
  context.Run([=](const Task& task) {
    const char* const from = task.At<char>(params);
    if (wide) {
      Gather(sizes, from, task.At<int64_t>(indices), task.At<char>(out), name);
    } else {
      Gather(sizes, from, task.At<int32_t>(indices), task.At<char>(out), name);
    }
  });
}

// Pairs each of the indices [batch, count] with the number of its batch entry: [batch, count, 2].
HloValue WithBatch(HloBuilder& hlo, const HloValue& indices) {
  const Shape shape({indices.dim(0), indices.dim(1), 1});
  return hlo.Concatenate({hlo.Iota(indices.dtype, shape, 0), hlo.Reshape(indices, shape)}, 2);
}

// An index out of range takes the nearest row.
void LowerGather(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue params = c.Input(0);
  const HloValue indices = c.Input(1);
  const int64_t at = NormalAxis(IntsOfInput(c, 2)[0], params.rank());
  const int64_t batch_dims = NormalAxis(c.Attr<int64_t>("batch_dims"), indices.rank());
  const std::vector<int64_t>& dims = params.shape.dims();
  const int64_t batch = Product(dims, 0, batch_dims);
  const int64_t outer = Product(dims, batch_dims, at);
  const int64_t inner = Product(dims, at + 1, params.rank());
  const int64_t count = Product(indices.shape.dims(), batch_dims, indices.rank());
  if (batch_dims == 0 && at == 0) return c.Output(0, hlo.GatherRows(params, indices));
  const HloValue x =
      hlo.Reshape(params, Shape({batch, outer, dims[static_cast<size_t>(at)], inner}));
  const HloValue starts = WithBatch(hlo, hlo.Reshape(indices, Shape({batch, count})));
  const HloValue picked =
      hlo.Gather(x, starts, {.window = {1, 3}, .dropped = {0, 2}, .starts = {0, 2}},
                 {1, outer, 1, inner}, Shape({batch, outer, count, inner}));
  c.Output(0, hlo.Reshape(picked, c.OutputShape(0)));
}

void OneHotShape(ShapeContext& context) {
  const Shape& indices = context.Input(0);
  for (int i = 1; i < 4; ++i) NeedRank(context, context.Input(i), 0, "depth and values");
  if (!indices.known_rank()) return context.Output(0, indices);
  const Tensor depth = context.Constant(1);
  const int64_t axis = AxisIn(context, context.node().Attr<int64_t>("axis"), indices.rank() + 1);
  std::vector<int64_t> dims = indices.dims();
  dims.insert(dims.begin() + axis, depth.valid() ? IntsOf(depth)[0] : kUnknownDim);
  if (depth.valid() && IntsOf(depth)[0] < 0) context.Fail("depth is negative");
  context.Output(0, Shape(dims));
}

Rows OneHotRows(RowContext& context) {
  const int64_t axis = context.node().Attr<int64_t>("axis");
  const bool first = NormalAxis(axis, context.Output(0).rank()) == 0;
  return first ? Rows::kWhole : FirstInputRows(context);
}

template <class T, class Index>
void FillOneHot(const Index* indices, T on, T off, T* out, int64_t outer, int64_t depth,
                int64_t inner) {
  std::fill_n(out, outer * depth * inner, off);
  for (int64_t o = 0; o < outer; ++o, out += depth * inner, indices += inner) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = static_cast<int64_t>(indices[i]);
      if (at >= 0 && at < depth) out[at * inner + i] = on;
    }
  }
}

void PlanOneHot(PlanContext& context) {
  const Shape& out_shape = context.OutputShape(0);
  const int64_t axis = NormalAxis(context.Attr<int64_t>("axis"), out_shape.rank());
  const int64_t outer = Product(out_shape.dims(), 0, axis);
  const int64_t depth = out_shape.dims()[static_cast<size_t>(axis)];
  const int64_t inner = Product(out_shape.dims(), axis + 1, out_shape.rank());
  const Buffer indices = context.Input(0);
  const Buffer on = context.Input(2);
  const Buffer off = context.Input(3);
  const Buffer out = context.Output(0);
  const bool wide = context.InputDType(0) == DType::kInt64;
  const bool known = DispatchDType(context.OutputDType(0), [&]<class T>() {
    context.Run([=](const Task& task) {
      const T yes = *task.At<T>(on);
      const T no = *task.At<T>(off);
      if (wide) {
        FillOneHot(task.At<int64_t>(indices), yes, no, task.At<T>(out), outer, depth, inner);
      } else {
        FillOneHot(task.At<int32_t>(indices), yes, no, task.At<T>(out), outer, depth, inner);
      }
    });
  });
  Check(known, "OneHot of {}", NameOf(context.OutputDType(0)));
}

void LowerOneHot(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue indices = c.Input(0);
  const Shape& shape = c.OutputShape(0);
  const int64_t axis = NormalAxis(c.Attr<int64_t>("axis"), shape.rank());
  Shape with_axis = shape;
  with_axis.set_dim(static_cast<int>(axis), 1);
  const HloValue here =
      hlo.Compare("EQ", hlo.Iota(indices.dtype, shape, axis), hlo.Reshape(indices, with_axis));
  c.Output(0, hlo.Select(here, c.Input(2), c.Input(3)));
}

const OpDef kGatherOps[] = {
    {.name = "GatherV2",
     .signature = "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams; "
                  "batch_dims: int = 0; Tparams: type; Tindices: int32|int64; Taxis: int32|int64",
     .shape = GatherShape,
     .grad = GatherGrad,
     .cpu = PlanGather,
     .hlo = LowerGather,
     .rows = GatherRows},
    {.name = "OneHot",
     .signature = "indices: TI, depth: int32, on_value: T, off_value: T -> output: T; "
                  "axis: int = -1; T: type; TI: int32|int64 = int64",
     .shape = OneHotShape,
     .grad = NoGradient,
     .cpu = PlanOneHot,
     .hlo = LowerOneHot,
     .rows = OneHotRows},
};

}  // namespace

OpFamily GatherOps() { return kGatherOps; }

}  // namespace tpuest::ops
