// Joins and splits tensors along an axis.

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value ConcatV2(std::vector<Value> values, int axis, std::string_view name) {
  if (values.size() == 1) return Identity(values[0], name);
  Graph& graph = values.front().graph();
  values.push_back(graph.Scalar<int32_t>(axis, "axis"));
  return graph.Add("ConcatV2", std::move(values), {}, name);
}

Value Pack(std::vector<Value> values, int axis, std::string_view name) {
  Graph& graph = values.front().graph();
  return graph.Add("Pack", std::move(values), {{"axis", int64_t{axis}}}, name);
}

std::vector<Value> Unpack(Value x, int axis, std::string_view name) {
  const int64_t num = x.shape().dim(axis);
  Node* const node =
      x.graph().AddNode("Unpack", {x}, {{"num", num}, {"axis", int64_t{axis}}}, name);
  std::vector<Value> slices;
  for (int i = 0; i < node->outputs(); ++i) slices.push_back(node->output(i));
  return slices;
}

namespace {

void ConcatShape(ShapeContext& context) {
  const Tensor axis_value = context.Constant(context.inputs() - 1);
  Shape result = context.Input(0);
  if (!axis_value.valid() || !result.known_rank()) {
    return context.Output(0, Shape::UnknownRank());
  }
  const int64_t given = OneNumber(context, axis_value, "axis");
  const auto axis = static_cast<int>(AxisIn(context, given, result.rank()));
  for (int i = 1; i < context.inputs() - 1; ++i) {
    Shape next = context.Input(i);
    if (!next.known_rank()) return context.Output(0, Shape::UnknownRank());
    if (next.rank() != result.rank()) {
      context.Fail(fmt::format("joins values of the same rank, found {} and {}", result.Text(),
                               next.Text()));
    }
    const int64_t size = next.dim(axis);
    const int64_t before = result.dim(axis);
    next.set_dim(axis, before);
    const std::optional<Shape> both = MergeOf(result, next);
    if (!both) {
      context.Fail(fmt::format("values may differ only on axis {}, found {} and {}", axis,
                               context.Input(0).Text(), context.Input(i).Text()));
    }
    result = *both;
    const bool known = size != kUnknownDim && before != kUnknownDim;
    if (before > kMostElements) context.Fail("the result is too large for a tensor");
    result.set_dim(axis, known ? before + size : kUnknownDim);
  }
  context.Output(0, result);
}

// Slice i of dy if the sizes along the axis are known; it starts at `begin`.
Value KnownPart(Value dy, const Shape& shape, int axis, int64_t begin) {
  std::vector<int64_t> begins(static_cast<size_t>(shape.rank()), 0);
  std::vector<int64_t> sizes(static_cast<size_t>(shape.rank()), -1);
  begins[static_cast<size_t>(axis)] = begin;
  sizes[static_cast<size_t>(axis)] = shape.dim(axis);
  return Slice(dy, begins, sizes);
}

// Slice i of dy by the shapes at run time; it starts at the sum of the earlier sizes along the
// axis.
Value CountedPart(Value dy, const std::vector<Value>& before, Value x, int axis) {
  Graph& graph = dy.graph();
  std::vector<int64_t> along(static_cast<size_t>(x.shape().rank()), 0);
  Value begin = Int32s(graph, along);
  along[static_cast<size_t>(axis)] = 1;
  std::vector<Value> shapes;
  for (const Value& value : before) shapes.push_back(ShapeOf(value));
  if (!shapes.empty()) begin = Mul(AddN(shapes), Int32s(graph, along));
  return graph.Add("Slice", {dy, begin, ShapeOf(x)});
}

void ConcatGrad(GradContext& c) {
  const int values = static_cast<int>(c.node().inputs().size()) - 1;
  const Tensor axis_value = ConstantValue(c.input(values));
  const Shape& first = c.input(0).shape();
  NeedInGraph(c, axis_value.valid() && first.known_rank(), "the axis and the ranks of its inputs");
  for (int i = 1; i < values; ++i) {
    NeedInGraph(c, c.input(i).shape().known_rank(), "the ranks of its inputs");
  }
  const auto axis = static_cast<int>(NormalAxis(IntsOf(axis_value)[0], first.rank()));
  std::vector<Value> before;
  int64_t begin = 0;
  for (int i = 0; i < values; ++i) {
    const Value x = c.input(i);
    const int64_t size = x.shape().dim(axis);
    const bool known = begin != kUnknownDim && size != kUnknownDim;
    c.SetDx(i, known ? KnownPart(c.Dy(), x.shape(), axis, begin)
                     : CountedPart(c.Dy(), before, x, axis));
    begin = known ? begin + size : kUnknownDim;
    before.push_back(x);
  }
}

Rows ConcatRows(RowContext& context) {
  const int axis_input = static_cast<int>(context.node().inputs().size()) - 1;
  const Tensor axis = ConstantValue(context.node().input(axis_input));
  if (!axis.valid() || NormalAxis(IntsOf(axis)[0], context.Output(0).rank()) == 0) {
    return Rows::kWhole;
  }
  return AllCut(context, 0, axis_input - 1);
}

// Copies `shape` elements from an input to their position in output 0.
void PlanPlace(PlanContext& context, int input, const Shape& shape, const Shape& out,
               int64_t offset) {
  const StridedCopy copy(shape.dims(), {.strides = StridesOf(shape)},
                         {.strides = StridesOf(out), .offset = offset},
                         ElementBytes(context.OutputDType(0)));
  const Buffer from = context.Input(input);
  const Buffer to = context.Output(0);
  context.Run([=](const Task& task) { copy.Run(task.At(from), task.At(to)); });
}

void PlanConcat(PlanContext& context) {
  const int values = context.inputs() - 1;
  const Shape& out = context.OutputShape(0);
  const auto axis =
      static_cast<size_t>(NormalAxis(IntsOf(context.Constant(values))[0], out.rank()));
  int64_t begin = 0;
  for (int i = 0; i < values; ++i) {
    const Shape& shape = context.InputShape(i);
    PlanPlace(context, i, shape, out, begin * StridesOf(out)[axis]);
    begin += shape.dims()[axis];
  }
}

void LowerConcat(LowerContext& c) {
  const int values = c.inputs() - 1;
  std::vector<HloValue> parts;
  for (int i = 0; i < values; ++i) parts.push_back(c.Input(i));
  c.Output(0, c.hlo().Concatenate(parts, NormalAxis(IntsOfInput(c, values)[0], parts[0].rank())));
}

void PackShape(ShapeContext& context) {
  Shape shape = context.Input(0);
  for (int i = 1; i < context.inputs(); ++i) {
    const std::optional<Shape> both = MergeOf(shape, context.Input(i));
    if (!both) {
      context.Fail(fmt::format("stacks values of the same shape, found {} and {}", shape.Text(),
                               context.Input(i).Text()));
    }
    shape = *both;
  }
  if (!shape.known_rank()) return context.Output(0, shape);
  const int64_t axis = AxisIn(context, context.node().Attr<int64_t>("axis"), shape.rank() + 1);
  std::vector<int64_t> dims = shape.dims();
  dims.insert(dims.begin() + axis, context.inputs());
  context.Output(0, Shape(dims));
}

void PackGrad(GradContext& c) {
  const auto num = static_cast<int64_t>(c.node().inputs().size());
  Node* const parts = c.graph().AddNode("Unpack", {c.Dy()},
                                        {{"num", num}, {"axis", c.node().Attr<int64_t>("axis")}});
  for (int i = 0; i < num; ++i) c.SetDx(i, parts->output(i));
}

Rows PackRows(RowContext& context) {
  const int64_t axis = context.node().Attr<int64_t>("axis");
  if (NormalAxis(axis, context.Output(0).rank()) == 0) return Rows::kWhole;
  return AllCut(context, 0, static_cast<int>(context.node().inputs().size()) - 1);
}

void PlanPack(PlanContext& context) {
  const Shape& out = context.OutputShape(0);
  const int64_t axis = NormalAxis(context.Attr<int64_t>("axis"), out.rank());
  const std::vector<int64_t> strides = StridesOf(out);
  std::vector<int64_t> dims = out.dims();
  dims[static_cast<size_t>(axis)] = 1;
  for (int i = 0; i < context.inputs(); ++i) {
    PlanPlace(context, i, Shape(dims), out, i * strides[static_cast<size_t>(axis)]);
  }
}

void LowerPack(LowerContext& c) {
  Shape part = c.OutputShape(0);
  const int64_t axis = NormalAxis(c.Attr<int64_t>("axis"), part.rank());
  part.set_dim(static_cast<int>(axis), 1);
  std::vector<HloValue> parts;
  for (int i = 0; i < c.inputs(); ++i) parts.push_back(c.hlo().Reshape(c.Input(i), part));
  c.Output(0, c.hlo().Concatenate(parts, axis));
}

void UnpackShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  if (!shape.known_rank()) return;
  const int64_t axis = AxisIn(context, context.node().Attr<int64_t>("axis"), shape.rank());
  const int64_t num = context.node().Attr<int64_t>("num");
  std::vector<int64_t> dims = shape.dims();
  const int64_t size = dims[static_cast<size_t>(axis)];
  if (size != kUnknownDim && size != num) {
    context.Fail(fmt::format("axis {} of {} cannot be split into {}", axis, shape.Text(), num));
  }
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < context.node().outputs(); ++i) context.Output(i, Shape(dims));
}

void UnpackGrad(GradContext& c) {
  c.SetDx(0, Pack(GradientsOrZeros(c), static_cast<int>(c.node().Attr<int64_t>("axis"))));
}

Rows UnpackRows(RowContext& context) {
  const int64_t axis = context.node().Attr<int64_t>("axis");
  return NormalAxis(axis, context.Input(0).rank()) == 0 ? Rows::kWhole : FirstInputRows(context);
}

void PlanUnpack(PlanContext& context) {
  const Shape& in = context.InputShape(0);
  const auto axis = static_cast<size_t>(NormalAxis(context.Attr<int64_t>("axis"), in.rank()));
  const std::vector<int64_t> strides = StridesOf(in);
  Shape part = in;
  part.set_dim(static_cast<int>(axis), 1);
  const Buffer from = context.Input(0);
  for (int i = 0; i < context.node().outputs(); ++i) {
    const StridedCopy copy(part.dims(), {.strides = strides, .offset = i * strides[axis]},
                           {.strides = StridesOf(part)}, ElementBytes(context.OutputDType(i)));
    const Buffer to = context.Output(i);
    context.Run([=](const Task& task) { copy.Run(task.At(from), task.At(to)); });
  }
}

void LowerUnpack(LowerContext& c) {
  const HloValue x = c.Input(0);
  const auto axis = static_cast<size_t>(NormalAxis(c.Attr<int64_t>("axis"), x.rank()));
  std::vector<int64_t> begin(x.shape.dims().size(), 0);
  std::vector<int64_t> end = x.shape.dims();
  const std::vector<int64_t> strides(begin.size(), 1);
  for (int i = 0; i < c.node().outputs(); ++i) {
    begin[axis] = i;
    end[axis] = i + 1;
    c.Output(i, c.hlo().Reshape(c.hlo().Slice(x, begin, end, strides), c.OutputShape(i)));
  }
}

const OpDef kJoinOps[] = {
    {.name = "ConcatV2",
     .signature = "values: N*T, axis: Tidx -> output: T; N: int >= 2; T: type; "
                  "Tidx: int32|int64 = int32",
     .shape = ConcatShape,
     .grad = ConcatGrad,
     .cpu = PlanConcat,
     .hlo = LowerConcat,
     .rows = ConcatRows},
    {.name = "Pack",
     .signature = "values: N*T -> output: T; N: int >= 1; T: type; axis: int = 0",
     .shape = PackShape,
     .grad = PackGrad,
     .cpu = PlanPack,
     .hlo = LowerPack,
     .rows = PackRows},
    {.name = "Unpack",
     .signature = "value: T -> output: num*T; num: int >= 0; T: type; axis: int = 0",
     .shape = UnpackShape,
     .grad = UnpackGrad,
     .cpu = PlanUnpack,
     .hlo = LowerUnpack,
     .rows = UnpackRows},
};

}  // namespace

OpFamily JoinOps() { return kJoinOps; }

}  // namespace tpuest::ops
