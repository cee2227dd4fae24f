// Ops on shapes, and ops that change only the shape.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/base/text.h"
#include "core/ops/array.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value Reshape(Value x, Value shape, std::string_view name) {
  return x.graph().Add("Reshape", {x, shape}, {}, name);
}

Value Reshape(Value x, const Shape& shape, std::string_view name) {
  return Reshape(x, Int32s(x.graph(), shape.dims()), name);
}

Value FlattenRows(Value x, std::string_view name) {
  const Shape& shape = x.shape();
  Check(shape.known_rank() && shape.rank() > 0, "'{}' has no rows: {}", x.name(), shape.Text());
  int64_t columns = 1;
  for (int d = 1; d < shape.rank(); ++d) {
    columns = shape.dim(d) == kUnknownDim || columns == kUnknownDim ? kUnknownDim
                                                                    : columns * shape.dim(d);
  }
  if (columns != kUnknownDim) return Reshape(x, Shape({kUnknownDim, columns}), name);
  Check(shape.dim(0) != kUnknownDim, "'{}': rows and columns of {} are unknown", x.name(),
        shape.Text());
  return Reshape(x, Shape({shape.dim(0), kUnknownDim}), name);
}

Value ShapeOf(Value x, DType out_type, std::string_view name) {
  return x.graph().Add("Shape", {x}, {{"out_type", out_type}}, name);
}

Value Size(Value x, DType out_type, std::string_view name) {
  return x.graph().Add("Size", {x}, {{"out_type", out_type}}, name);
}

Value Rank(Value x, std::string_view name) { return x.graph().Add("Rank", {x}, {}, name); }

Value ExpandDims(Value x, int axis, std::string_view name) {
  return x.graph().Add("ExpandDims", {x, x.graph().Scalar<int32_t>(axis, "dim")}, {}, name);
}

Value Squeeze(Value x, const std::vector<int64_t>& axes, std::string_view name) {
  std::vector<int64_t> chosen = axes;
  if (chosen.empty()) {
    for (int d = 0; d < x.shape().rank(); ++d) {
      if (x.shape().dim(d) == 1) chosen.push_back(d);
    }
    // An empty list would drop every dimension that is 1 when the program is compiled.
    if (chosen.empty()) return Identity(x, name);
  }
  return x.graph().Add("Squeeze", {x}, {{"squeeze_dims", chosen}}, name);
}

Value BroadcastArgs(Value s0, Value s1, const BroadcastRefusal& refusal, std::string_view name) {
  return s0.graph().Add("BroadcastArgs", {s0, s1},
                        {{"_refusal", refusal.text}, {"_way_out", refusal.way_out}}, name);
}

namespace {

// dx is dy in x's shape.
void ReshapeGrad(GradContext& c) {
  const Shape& shape = c.input(0).shape();
  const auto& dims = shape.dims();
  const bool known = shape.known_rank() && std::count(dims.begin(), dims.end(), kUnknownDim) <= 1;
  c.SetDx(0, known ? Reshape(c.Dy(), shape) : Reshape(c.Dy(), ShapeOf(c.input(0))));
}

void ReshapeShape(ShapeContext& context) {
  Shape shape = ShapeFromValue(context.node().input(1));
  const Shape& from = context.Input(0);
  if (!shape.known_rank()) return context.Output(0, shape);
  const auto unknown = std::count(shape.dims().begin(), shape.dims().end(), kUnknownDim);
  if (unknown > 1 && context.Constant(1).valid()) {
    context.Fail(fmt::format("only one dimension can be -1, found {}", shape.Text()));
  }
  // The graph reports an invalid shape.
  if (!from.fully_known() || unknown > 1 || !IsCountable(shape)) return context.Output(0, shape);
  int64_t elements = 1;
  for (const int64_t dim : shape.dims()) elements *= dim == kUnknownDim ? 1 : dim;
  const bool fits =
      unknown == 0 ? elements == from.elements() : elements > 0 && from.elements() % elements == 0;
  if (!fits) {
    context.Fail(fmt::format("{} has {} elements and cannot be reshaped to {}", from.Text(),
                             from.elements(), shape.Text()));
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == kUnknownDim) shape.set_dim(d, from.elements() / elements);
  }
  context.Output(0, shape);
}

// Fails if a number from Shape or Size is too large for the requested dtype.
void CheckNumber(const ShapeContext& context, int64_t number) {
  if (number <= INT32_MAX || context.node().output_dtype(0) == DType::kInt64) return;
  context.Fail(
      fmt::format("{} of {} does not fit int32, its out_type", number, context.Input(0).Text()));
}

void ShapeShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  for (const int64_t dim : shape.dims()) CheckNumber(context, dim);
  context.Output(0, Shape({shape.known_rank() ? shape.rank() : kUnknownDim}));
}

Tensor DimsOf(const Node& node) {
  const Shape& shape = node.input(0).shape();
  if (!shape.fully_known()) return {};
  return Tensor::Of<int64_t>({shape.rank()}, shape.dims()).Cast(node.output_dtype(0));
}

Tensor ElementsOf(const Node& node) {
  const Shape& shape = node.input(0).shape();
  if (!shape.fully_known()) return {};
  return Tensor::Scalar<int64_t>(shape.elements()).Cast(node.output_dtype(0));
}

Tensor RankOf(const Node& node) {
  const Shape& shape = node.input(0).shape();
  return shape.known_rank() ? Tensor::Scalar<int32_t>(shape.rank()) : Tensor();
}

// Plans numbers that are known when the plan is made.
void PlanNumbers(PlanContext& context, const std::vector<int64_t>& numbers) {
  const Tensor value = Tensor::Of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers)
                           .Cast(context.OutputDType(0));
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) { std::memcpy(task.At(out), value.raw(), value.bytes()); });
}

void PlanShape(PlanContext& context) { PlanNumbers(context, context.WholeInputShape(0).dims()); }
void PlanSize(PlanContext& context) {
  PlanNumbers(context, {context.WholeInputShape(0).elements()});
}
void PlanRank(PlanContext& context) { PlanNumbers(context, {context.WholeInputShape(0).rank()}); }

void LowerNumbers(LowerContext& c, const std::vector<int64_t>& numbers) {
  const Tensor value = Tensor::Of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
  c.Output(0, c.hlo().Constant(value.Cast(c.OutputDType(0)).Reshaped(c.OutputShape(0))));
}

void LowerShape(LowerContext& c) { LowerNumbers(c, c.Input(0).shape.dims()); }
void LowerSize(LowerContext& c) { LowerNumbers(c, {c.Input(0).shape.elements()}); }
void LowerRank(LowerContext& c) { LowerNumbers(c, {c.Input(0).rank()}); }

void SizeShape(ShapeContext& context) {
  if (context.Input(0).fully_known()) CheckNumber(context, context.Input(0).elements());
  ScalarShape(context);
}

void ExpandDimsShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  const Tensor dim = context.Constant(1);
  if (!shape.known_rank() || !dim.valid()) return context.Output(0, Shape::UnknownRank());
  const int64_t axis = AxisIn(context, OneNumber(context, dim, "axis"), shape.rank() + 1);
  std::vector<int64_t> dims = shape.dims();
  dims.insert(dims.begin() + axis, 1);
  context.Output(0, Shape(dims));
}

void SqueezeShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  const auto& axes = context.node().Attr<std::vector<int64_t>>("squeeze_dims");
  if (!shape.known_rank()) return context.Output(0, Shape::UnknownRank());
  std::vector<bool> drop(static_cast<size_t>(shape.rank()), false);
  for (const int64_t axis : axes) {
    const int64_t at = AxisIn(context, axis, shape.rank());
    const int64_t size = shape.dims()[static_cast<size_t>(at)];
    if (size != 1 && size != kUnknownDim) {
      context.Fail(fmt::format("axis {} of {} has size {}, expected 1", axis, shape.Text(), size));
    }
    drop[static_cast<size_t>(at)] = true;
  }
  std::vector<int64_t> dims;
  for (size_t d = 0; d < drop.size(); ++d) {
    if (axes.empty() && shape.dims()[d] == kUnknownDim) {
      return context.Output(0, Shape::UnknownRank());
    }
    if (!drop[d] && (!axes.empty() || shape.dims()[d] != 1)) dims.push_back(shape.dims()[d]);
  }
  context.Output(0, Shape(dims));
}

void BroadcastArgsShape(ShapeContext& context) {
  const Shape& a = context.Input(0);
  const Shape& b = context.Input(1);
  NeedRank(context, a, 1, "s0");
  NeedRank(context, b, 1, "s1");
  const bool known = a.fully_known() && b.fully_known();
  context.Output(0, Shape({known ? std::max(a.dim(0), b.dim(0)) : kUnknownDim}));
}

// The dimension at `back` from the last; 1 if the shape has fewer dimensions.
int64_t DimFromBack(const std::vector<int64_t>& dims, size_t back) {
  return back < dims.size() ? dims[dims.size() - 1 - back] : 1;
}

[[noreturn]] void RefuseBroadcast(const Node& node, const std::vector<int64_t>& a,
                                  const std::vector<int64_t>& b) {
  std::string text = node.Attr<std::string>("_refusal");
  if (text.empty()) {
    text = fmt::format("BroadcastArgs '{}': Incompatible shapes: {} vs. {}", node.name(),
                       Shape(a).Text(), Shape(b).Text());
  }
  for (const auto& [mark, dims] : {std::pair{"%0", &a}, std::pair{"%1", &b}}) {
    const size_t at = text.find(mark);
    if (at != std::string::npos && !dims->empty()) {
      text.replace(at, 2, WithCommas(dims->front()));
    }
  }
  throw Error(Code::kData, std::move(text), node.Attr<std::string>("_way_out")).At(node.origin());
}

void PlanBroadcastArgs(PlanContext& context) {
  const bool wide = context.InputDType(0) == DType::kInt64;
  const auto dims_of = [wide, &context](int input) {
    return [wide, buffer = context.Input(input),
            n = context.InputShape(input).dim(0)](const Task& task) {
      std::vector<int64_t> dims(static_cast<size_t>(n));
      for (size_t i = 0; i < dims.size(); ++i) {
        dims[i] = wide ? task.At<const int64_t>(buffer)[i] : task.At<const int32_t>(buffer)[i];
      }
      return dims;
    };
  };
  const auto write = [wide, out = context.Output(0)](const Task& task, size_t i, int64_t dim) {
    if (wide) {
      task.At<int64_t>(out)[i] = dim;
    } else {
      task.At<int32_t>(out)[i] = static_cast<int32_t>(dim);
    }
  };
  const auto rank = static_cast<size_t>(context.OutputShape(0).dim(0));
  context.Run([node = &context.node(), first = dims_of(0), second = dims_of(1), write,
               rank](const Task& task) {
    const std::vector<int64_t> a = first(task);
    const std::vector<int64_t> b = second(task);
    for (size_t back = 0; back < rank; ++back) {
      const int64_t x = DimFromBack(a, back);
      const int64_t y = DimFromBack(b, back);
      if (x != y && x != 1 && y != 1) RefuseBroadcast(*node, a, b);
      write(task, rank - 1 - back, x == 1 ? y : x);
    }
  });
}

const OpDef kShapeOps[] = {
    {.name = "BroadcastArgs",
     .signature = "s0: T, s1: T -> r0: T; T: int32|int64 = int32; _refusal: string = \"\"; "
                  "_way_out: string = \"\"",
     .shape = BroadcastArgsShape,
     .grad = NoGradient,
     .cpu = PlanBroadcastArgs,
     .host = true},
    {.name = "Reshape",
     .signature = "tensor: T, shape: Tshape -> output: T; T: type; Tshape: int32|int64 = int32",
     .shape = ReshapeShape,
     .grad = ReshapeGrad,
     .cpu = PlanAlias,
     .hlo = LowerAlias,
     .rows = KeepsFirstAxis,
     .alias = true},
    {.name = "Shape",
     .signature = "input: T -> output: out_type; T: type; out_type: int32|int64 = int32",
     .shape = ShapeShape,
     .grad = NoGradient,
     .cpu = PlanShape,
     .hlo = LowerShape,
     .of_shape = DimsOf},
    {.name = "Size",
     .signature = "input: T -> output: out_type; T: type; out_type: int32|int64 = int32",
     .shape = SizeShape,
     .grad = NoGradient,
     .cpu = PlanSize,
     .hlo = LowerSize,
     .of_shape = ElementsOf},
    {.name = "Rank",
     .signature = "input: T -> output: int32; T: type",
     .shape = ScalarShape,
     .grad = NoGradient,
     .cpu = PlanRank,
     .hlo = LowerRank,
     .of_shape = RankOf},
    {.name = "ExpandDims",
     .signature = "input: T, dim: Tdim -> output: T; T: type; Tdim: int32|int64 = int32",
     .shape = ExpandDimsShape,
     .grad = ReshapeGrad,
     .cpu = PlanAlias,
     .hlo = LowerAlias,
     .rows = KeepsFirstAxis,
     .alias = true},
    {.name = "Squeeze",
     .signature = "input: T -> output: T; T: type; squeeze_dims: list(int) = []",
     .shape = SqueezeShape,
     .grad = ReshapeGrad,
     .cpu = PlanAlias,
     .hlo = LowerAlias,
     .rows = KeepsFirstAxis,
     .alias = true},
};

}  // namespace

OpFamily ShapeOps() { return kShapeOps; }

}  // namespace tpuest::ops
