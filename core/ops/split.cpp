// Cutting a tensor along an axis into parts of one size, or of given sizes.

#include <numeric>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

std::vector<Value> EqualParts(Value x, int parts, int axis, std::string_view name) {
  Graph& graph = x.graph();
  Node* const node = graph.AddNode("Split", {graph.Scalar<int32_t>(axis, "split_dim"), x},
                                   {{"num_split", int64_t{parts}}}, name);
  std::vector<Value> results;
  for (int i = 0; i < parts; ++i) results.push_back(node->output(i));
  return results;
}

namespace {

// The inputs of Split and SplitV are in another order.
bool IsSplitV(const Node& node) { return node.type() == "SplitV"; }
int ValueInput(const Node& node) { return IsSplitV(node) ? 0 : 1; }
int AxisInput(const Node& node) { return IsSplitV(node) ? 2 : 0; }

// The sizes that SplitV gives, with -1 for the rest; the sum is `whole`, if that is known.
std::vector<int64_t> GivenSizes(const ShapeContext& context, int64_t whole) {
  std::vector<int64_t> sizes = IntsOf(context.Constant(1));
  int64_t sum = 0;
  int rest = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && rest < 0) {
      rest = static_cast<int>(i);
      continue;
    }
    if (sizes[i] < 0) context.Fail(fmt::format("size {} of part {} is negative", sizes[i], i));
    if (sizes[i] > kMostElements) context.Fail(fmt::format("part {} is too large for a tensor", i));
    sum += sizes[i];
  }
  if (whole == kUnknownDim) {
    if (rest >= 0) sizes[static_cast<size_t>(rest)] = kUnknownDim;
    return sizes;
  }
  if (rest < 0 ? sum != whole : sum > whole) {
    context.Fail(fmt::format("the sizes [{}] do not add up to {}", fmt::join(sizes, ","), whole));
  }
  if (rest >= 0) sizes[static_cast<size_t>(rest)] = whole - sum;
  return sizes;
}

std::vector<int64_t> EqualSizes(const ShapeContext& context, int64_t whole) {
  const auto parts = static_cast<int64_t>(context.node().outputs());
  if (whole != kUnknownDim && whole % parts != 0) {
    context.Fail(fmt::format("an axis of {} cannot be split into {} equal parts", whole, parts));
  }
  return std::vector<int64_t>(static_cast<size_t>(parts),
                              whole == kUnknownDim ? kUnknownDim : whole / parts);
}

void SplitShape(ShapeContext& context) {
  const Node& node = context.node();
  const Shape& x = context.Input(ValueInput(node));
  const Tensor axis_value = context.Constant(AxisInput(node));
  const auto unknown = [&] {
    for (int i = 0; i < node.outputs(); ++i) context.Output(i, Shape::UnknownRank());
  };
  if (IsSplitV(node)) {
    const Shape& sizes = context.Input(1);
    NeedRank(context, sizes, 1, "size_splits");
    if (sizes.known_rank() && sizes.dim(0) != kUnknownDim && sizes.dim(0) != node.outputs()) {
      context.Fail(fmt::format("size_splits has {} sizes, expected num_split, {}", sizes.dim(0),
                               node.outputs()));
    }
  }
  if (!x.known_rank() || !axis_value.valid()) return unknown();
  const auto axis =
      static_cast<int>(AxisIn(context, OneNumber(context, axis_value, "split_dim"), x.rank()));
  if (IsSplitV(node) && !context.Constant(1).valid()) return unknown();
  const std::vector<int64_t> sizes =
      IsSplitV(node) ? GivenSizes(context, x.dim(axis)) : EqualSizes(context, x.dim(axis));
  for (int i = 0; i < node.outputs(); ++i) {
    Shape part = x;
    part.set_dim(axis, sizes[static_cast<size_t>(i)]);
    context.Output(i, part);
  }
}

void SplitGrad(GradContext& c) {
  std::vector<Value> parts = GradientsOrZeros(c);
  const int value = ValueInput(c.node());
  if (parts.size() == 1) return c.SetDx(value, parts[0]);
  parts.push_back(c.input(AxisInput(c.node())));
  c.SetDx(value, c.graph().Add("ConcatV2", std::move(parts)));
}

int64_t SplitAxis(const Node& node) {
  return NormalAxis(NeedConstant(node, AxisInput(node))[0],
                    node.input(ValueInput(node)).shape().rank());
}

Rows SplitRows(RowContext& context) {
  const int value = ValueInput(context.node());
  return SplitAxis(context.node()) == 0 ? Rows::kWhole : AllCut(context, value, value);
}

void PlanSplit(PlanContext& context) {
  const int value = ValueInput(context.node());
  const auto axis = static_cast<size_t>(SplitAxis(context.node()));
  const std::vector<int64_t> strides = StridesOf(context.InputShape(value));
  const Buffer from = context.Input(value);
  int64_t begin = 0;
  for (int i = 0; i < context.node().outputs(); ++i) {
    const Shape& part = context.OutputShape(i);
    const StridedCopy copy(part.dims(), {.strides = strides, .offset = begin * strides[axis]},
                           {.strides = StridesOf(part)}, ElementBytes(context.OutputDType(i)));
    begin += part.dims()[axis];
    const Buffer to = context.Output(i);
    if (part.elements() == 0) continue;
    context.Run([=](const Task& task) { copy.Run(task.At(from), task.At(to)); });
  }
}

void LowerSplit(LowerContext& c) {
  const HloValue x = c.Input(ValueInput(c.node()));
  const auto axis = static_cast<size_t>(SplitAxis(c.node()));
  std::vector<int64_t> begin(x.shape.dims().size(), 0);
  std::vector<int64_t> end = x.shape.dims();
  const std::vector<int64_t> strides(begin.size(), 1);
  for (int i = 0; i < c.node().outputs(); ++i) {
    end[axis] = begin[axis] + c.OutputShape(i).dims()[axis];
    c.Output(i, c.hlo().Slice(x, begin, end, strides));
    begin[axis] = end[axis];
  }
}

const OpDef kSplitOps[] = {
    {.name = "Split",
     .signature = "split_dim: int32, value: T -> output: num_split*T; num_split: int >= 1; T: type",
     .shape = SplitShape,
     .grad = SplitGrad,
     .cpu = PlanSplit,
     .hlo = LowerSplit,
     .rows = SplitRows},
    {.name = "SplitV",
     .signature = "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T; "
                  "num_split: int >= 1; T: type; Tlen: int32|int64 = int64",
     .shape = SplitShape,
     .grad = SplitGrad,
     .cpu = PlanSplit,
     .hlo = LowerSplit,
     .rows = SplitRows},
};

}  // namespace

OpFamily SplitOps() { return kSplitOps; }

}  // namespace tpuest::ops
