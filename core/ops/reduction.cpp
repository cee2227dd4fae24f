// Reductions over axes.

#include "core/ops/reduction.h"

#include <algorithm>
#include <limits>

#include "core/graph/flops.h"
#include "core/kernels/isa/reduce.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_math.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

Value AddReduction(std::string_view op, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                   std::string_view name) {
  Graph& graph = x.graph();
  Value axes_value;
  if (!axes.empty()) {
    axes_value = Int32s(graph, axes, "reduction_indices");
  } else if (x.shape().known_rank()) {
    std::vector<int64_t> all;
    for (int d = 0; d < x.shape().rank(); ++d) all.push_back(d);
    axes_value = Int32s(graph, all, "reduction_indices");
  } else {
    axes_value = Range(graph.Scalar<int32_t>(0), Rank(x), graph.Scalar<int32_t>(1));
  }
  return graph.Add(op, {x, axes_value}, {{"keep_dims", keep_dims}}, name);
}

}  // namespace

Value Sum(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("Sum", x, axes, keep_dims, name);
}
Value Mean(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("Mean", x, axes, keep_dims, name);
}
Value Max(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("Max", x, axes, keep_dims, name);
}
Value Min(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("Min", x, axes, keep_dims, name);
}
Value Prod(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("Prod", x, axes, keep_dims, name);
}
Value All(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("All", x, axes, keep_dims, name);
}
Value Any(Value x, const std::vector<int64_t>& axes, bool keep_dims, std::string_view name) {
  return AddReduction("Any", x, axes, keep_dims, name);
}

namespace {

// Marks the reduced axes of an input of this rank; nullopt if they are not known yet.
std::optional<std::vector<bool>> Reduced(const Node& node, int rank) {
  const Tensor axes = ConstantValue(node.input(1));
  if (!axes.valid()) return std::nullopt;
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (const int64_t axis : IntsOf(axes)) {
    reduced[static_cast<size_t>(NormalAxis(axis, rank))] = true;
  }
  return reduced;
}

void ReductionShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  const Tensor axes = context.Constant(1);
  if (!shape.known_rank() || !axes.valid()) return context.Output(0, Shape::UnknownRank());
  for (const int64_t axis : IntsOf(axes)) (void)AxisIn(context, axis, shape.rank());
  const std::vector<bool> reduced = *Reduced(context.node(), shape.rank());
  const bool keep = context.node().Attr<bool>("keep_dims");
  std::vector<int64_t> dims;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) dims.push_back(shape.dims()[d]);
    if (reduced[d] && keep) dims.push_back(1);
  }
  context.Output(0, Shape(dims));
}

// Inserts the reduced axes into y's shape, with size 1.
Value Kept(const Node& node, Value y) {
  const Shape& shape = node.input(0).shape();
  if (node.Attr<bool>("keep_dims")) return y;
  const auto reduced = Reduced(node, shape.known_rank() ? shape.rank() : 0);
  Check(shape.known_rank() && reduced, "the axes of '{}' are unknown", node.name());
  std::vector<int64_t> dims;
  int unknown = 0;
  for (size_t d = 0; d < reduced->size(); ++d) {
    dims.push_back((*reduced)[d] ? 1 : shape.dims()[d]);
    unknown += dims.back() == kUnknownDim ? 1 : 0;
  }
  if (unknown <= 1) return Reshape(y, Shape(dims));
  for (size_t d = 0; d < reduced->size(); ++d) {
    if ((*reduced)[d]) y = ExpandDims(y, static_cast<int>(d));
  }
  return y;
}

Value Spread(GradContext& c, Value dy) {
  return BroadcastTo(Kept(c.node(), dy), ShapeOf(c.input(0)));
}

void NeedAxes(const GradContext& c) {
  NeedInGraph(c, c.input(0).shape().known_rank() && ConstantValue(c.node().input(1)).valid(),
              "its axes and the rank of its input");
}

void SumGrad(GradContext& c) {
  NeedAxes(c);
  c.SetDx(0, Spread(c, c.Dy()));
}

// The number of elements per mean, in y's dtype; a constant if the shapes are known.
Value ReducedCount(GradContext& c) {
  const Value x = c.input(0);
  const Shape& shape = x.shape();
  const std::vector<bool> reduced = *Reduced(c.node(), shape.rank());
  int64_t count = 1;
  for (size_t d = 0; d < reduced.size() && count != kUnknownDim; ++d) {
    if (reduced[d]) count = shape.dims()[d] == kUnknownDim ? kUnknownDim : count * shape.dims()[d];
  }
  if (count != kUnknownDim) return c.graph().ScalarOf(x.dtype(), static_cast<double>(count));
  return Cast(FloorDiv(Size(x), Size(c.output(0))), x.dtype());
}

void MeanGrad(GradContext& c) {
  NeedAxes(c);
  c.SetDx(0, Spread(c, RealDiv(c.Dy(), ReducedCount(c))));
}

// Elements that equal the extreme share the gradient equally.
void ExtremeGrad(GradContext& c) {
  NeedAxes(c);
  const Value y = Kept(c.node(), c.output(0));
  const Value chosen = Cast(Equal(c.input(0), y), c.Dy().dtype());
  const std::vector<int64_t> axes = IntsOf(ConstantValue(c.input(1)));
  const Value ties = axes.empty() ? chosen : Sum(chosen, axes, true);
  c.SetDx(0, Mul(RealDiv(chosen, ties), Kept(c.node(), c.Dy())));
}

// dx is dy times the product of all other elements: the product of the nonzero elements divided by
// x. If one element is 0, only it has a gradient; if several are 0, none has.
void ProdGrad(GradContext& c) {
  NeedAxes(c);
  const Value x = c.input(0);
  const std::vector<int64_t> axes = IntsOf(ConstantValue(c.input(1)));
  if (axes.empty()) return c.SetDx(0, c.Dy());
  const Value zero = c.graph().ScalarOf(x.dtype(), 0);
  const Value one = c.graph().ScalarOf(x.dtype(), 1);
  const Value is_zero = Equal(x, zero);
  const Value safe = SelectV2(is_zero, one, x);
  const Value product = Prod(safe, axes, true);
  const Value zeros = Sum(Cast(is_zero, x.dtype()), axes, true);
  const Value of_zero = SelectV2(Equal(zeros, one), product, zero);
  const Value of_others = SelectV2(Equal(zeros, zero), RealDiv(product, safe), zero);
  c.SetDx(0, Mul(SelectV2(is_zero, of_zero, of_others), Kept(c.node(), c.Dy())));
}

// If axis 0 is not reduced, each row has its own result; sums over the rows are computed in parts.
template <Rows over_rows>
Rows ReductionRows(RowContext& context) {
  if (!context.IsCut(0) || context.IsCut(1)) return Rows::kWhole;
  const auto reduced = Reduced(context.node(), context.Input(0).rank());
  if (!reduced) return Rows::kWhole;
  return (*reduced)[0] ? over_rows : Rows::kEach;
}

// Integer means are not computed in parts, because each part would be rounded.
Rows MeanRows(RowContext& context) {
  const Rows rows = ReductionRows<Rows::kSum>(context);
  const bool exact = IsFloating(context.node().output_dtype(0));
  return rows == Rows::kSum && !exact ? Rows::kWhole : rows;
}

int64_t ReducedCount(const Shape& shape, const std::vector<bool>& reduced) {
  int64_t count = 1;
  for (size_t d = 0; d < reduced.size(); ++d) count *= reduced[d] ? shape.dims()[d] : 1;
  return count;
}

std::vector<bool> ConstantAxes(const Node& node, int rank) {
  const auto reduced = Reduced(node, rank);
  if (!reduced) {
    throw Error(Code::kUsage,
                fmt::format("{} '{}': the axes must be constant", node.type(), node.name()))
        .At(node.origin());
  }
  return *reduced;
}

// A mean of a block divides by the number of elements of the whole batch, so that the blocks add up
// to it.
template <Reduction reduction, bool mean = false>
void PlanReduction(PlanContext& context) {
  const Shape& shape = context.InputShape(0);
  const std::vector<bool> reduced = ConstantAxes(context.node(), shape.rank());
  int64_t divisor = mean ? ReducedCount(context.WholeInputShape(0), reduced) : 1;
  // The mean of no integers is 0; the mean of no floating numbers is NaN.
  if (!IsFloating(context.InputDType(0))) divisor = std::max<int64_t>(divisor, 1);
  const Reduce reduce(reduction, shape, reduced, context.InputDType(0), context.OutputDType(0),
                      divisor);
  const Buffer in = context.Input(0);
  const Buffer out = context.Output(0);
  const Buffer scratch = context.Scratch(reduce.ScratchBytes());
  context.Run([=](const Task& task) { reduce.Run(task.At(in), task.At(out), task.At(scratch)); });
}

// The initial value of a reduction; infinity stands for the limits of a dtype.
double InitOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax:
      return -std::numeric_limits<double>::infinity();
    case Reduction::kMin:
      return std::numeric_limits<double>::infinity();
    case Reduction::kProd:
    case Reduction::kAll:
      return 1;
    default:
      return 0;
  }
}

std::string_view HloOpOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax:
      return "maximum";
    case Reduction::kMin:
      return "minimum";
    case Reduction::kProd:
      return "multiply";
    case Reduction::kAll:
      return "and";
    case Reduction::kAny:
      return "or";
    default:
      return "add";
  }
}

// bfloat16 is reduced in float and rounded once, and means of int32 are computed in int64. If an
// element is NaN, the extreme is NaN, which not every device's "maximum" guarantees.
template <Reduction reduction, bool mean = false>
void Lower(LowerContext& c) {
  HloTerm x = WideInput(c, 0);
  if (mean && x.dtype() == DType::kInt32) x = x.As(DType::kInt64);
  const std::vector<bool> reduced = ConstantAxes(c.node(), x.shape().rank());
  std::vector<int64_t> axes;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) axes.push_back(static_cast<int64_t>(d));
  }
  HloTerm y(c.hlo(), c.hlo().Reduce(HloOpOf(reduction), x.value(), axes, InitOf(reduction)));
  constexpr bool kExtreme = reduction == Reduction::kMax || reduction == Reduction::kMin;
  if (kExtreme && IsFloating(x.dtype())) {
    const HloTerm has_nan(c.hlo(), c.hlo().Reduce("or", Differs(x, x).value(), axes, 0));
    y = Where(has_nan, std::numeric_limits<double>::quiet_NaN(), y);
  }
  if (mean) y = y / y.Like(static_cast<double>(ReducedCount(x.shape(), reduced)));
  c.Output(0, c.hlo().Reshape(y.As(c.OutputDType(0)).value(), c.OutputShape(0)));
}

constexpr std::string_view kReductionNumber =
    "input: T, reduction_indices: Tidx -> output: T; keep_dims: bool = false; "
    "T: bfloat16|float|double|int32|int64; Tidx: int32|int64 = int32";
constexpr std::string_view kReductionLogic =
    "input: bool, reduction_indices: Tidx -> output: bool; keep_dims: bool = false; "
    "Tidx: int32|int64 = int32";

constexpr OpDef ReductionDef(std::string_view name, std::string_view signature, GradFn grad,
                             PlanFn cpu, LowerFn hlo, RowFn rows) {
  return {.name = name,
          .signature = signature,
          .shape = ReductionShape,
          .grad = grad,
          .cpu = cpu,
          .hlo = hlo,
          .rows = rows,
          .flops = InputFlops};
}

const OpDef kReductionOps[] = {
    ReductionDef("Sum", kReductionNumber, SumGrad, PlanReduction<Reduction::kSum>,
                 Lower<Reduction::kSum>, ReductionRows<Rows::kSum>),
    ReductionDef("Mean", kReductionNumber, MeanGrad, PlanReduction<Reduction::kSum, true>,
                 Lower<Reduction::kSum, true>, MeanRows),
    ReductionDef("Max", kReductionNumber, ExtremeGrad, PlanReduction<Reduction::kMax>,
                 Lower<Reduction::kMax>, ReductionRows<Rows::kWhole>),
    ReductionDef("Min", kReductionNumber, ExtremeGrad, PlanReduction<Reduction::kMin>,
                 Lower<Reduction::kMin>, ReductionRows<Rows::kWhole>),
    ReductionDef("Prod", kReductionNumber, ProdGrad, PlanReduction<Reduction::kProd>,
                 Lower<Reduction::kProd>, ReductionRows<Rows::kWhole>),
    ReductionDef("All", kReductionLogic, NoGradient, PlanReduction<Reduction::kAll>,
                 Lower<Reduction::kAll>, ReductionRows<Rows::kWhole>),
    ReductionDef("Any", kReductionLogic, NoGradient, PlanReduction<Reduction::kAny>,
                 Lower<Reduction::kAny>, ReductionRows<Rows::kWhole>),
};

}  // namespace

OpFamily ReductionOps() { return kReductionOps; }

}  // namespace tpuest::ops
