// Selects ranges, and writes them into zeros.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/dense_slice.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value StridedSlice(Value x, const StridedSliceOptions& options, std::string_view name) {
  Graph& graph = x.graph();
  std::vector<int64_t> strides = options.strides;
  if (strides.empty()) strides.assign(options.begin.size(), 1);
  return graph.Add("StridedSlice",
                   {x, Int32s(graph, options.begin, "begin"), Int32s(graph, options.end, "end"),
                    Int32s(graph, strides, "strides")},
                   {{"begin_mask", options.begin_mask},
                    {"end_mask", options.end_mask},
                    {"ellipsis_mask", options.ellipsis_mask},
                    {"new_axis_mask", options.new_axis_mask},
                    {"shrink_axis_mask", options.shrink_axis_mask}},
                   name);
}

Value Slice(Value x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size,
            std::string_view name) {
  Graph& graph = x.graph();
  return graph.Add("Slice", {x, Int32s(graph, begin, "begin"), Int32s(graph, size, "size")}, {},
                   name);
}

Value Pad(Value x, const std::vector<std::pair<int64_t, int64_t>>& paddings,
          std::string_view name) {
  std::vector<int64_t> flat;
  bool is_wide = false;
  for (const auto& [before, after] : paddings) {
    flat.insert(flat.end(), {before, after});
    is_wide |= std::max(before, after) > INT32_MAX || std::min(before, after) < INT32_MIN;
  }
  const Tensor wide = Tensor::Of<int64_t>({static_cast<int64_t>(paddings.size()), 2}, flat);
  const Tensor table = is_wide ? wide : wide.Cast(DType::kInt32);
  return x.graph().Add("Pad", {x, x.graph().Constant(table, "paddings")}, {}, name);
}

namespace {

constexpr std::string_view kMasks[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                       "shrink_axis_mask"};

Attrs MasksOf(const Node& node) {
  Attrs attrs;
  for (const std::string_view mask : kMasks) {
    attrs[std::string(mask)] = node.Attr<int64_t>(mask);
  }
  return attrs;
}

// The integers of constant inputs; nullopt if one is not known yet.
std::optional<std::vector<std::vector<int64_t>>> KnownInts(const Node& node, int first, int last) {
  std::vector<std::vector<int64_t>> numbers;
  for (int i = first; i <= last; ++i) {
    const Tensor value = ConstantValue(node.input(i));
    if (!value.valid()) return std::nullopt;
    numbers.push_back(IntsOf(value));
  }
  return numbers;
}

// The integers of constant inputs, which a plan requires.
std::vector<std::vector<int64_t>> NeedInts(const PlanContext& context, int first, int last) {
  auto numbers = KnownInts(context.node(), first, last);
  if (!numbers) {
    throw Error(Code::kUsage,
                fmt::format("{} '{}' selects a range that depends on data", context.node().type(),
                            context.node().name()),
                "its bounds must be known from constants and shapes")
        .At(context.node().origin());
  }
  return *numbers;
}

void StridedSliceShape(ShapeContext& context) {
  const auto numbers = KnownInts(context.node(), 1, 3);
  if (!numbers || !context.Input(0).known_rank()) {
    return context.Output(0, Shape::UnknownRank());
  }
  const DenseSlice slice =
      ResolveSlice(context.node(), context.Input(0), (*numbers)[0], (*numbers)[1], (*numbers)[2]);
  if (!slice.fault.empty()) context.Fail(slice.fault);
  context.Output(0, slice.out);
}

void StridedSliceGradient(GradContext& c) {
  c.SetDx(0, c.graph().Add("StridedSliceGrad",
                           {ShapeOf(c.input(0), c.input(1).dtype()), c.input(1), c.input(2),
                            c.input(3), c.Dy()},
                           MasksOf(c.node())));
}

// Gives kEach if all rows are taken, in order.
Rows StridedSliceRows(RowContext& context) {
  const auto numbers = KnownInts(context.node(), 1, 3);
  if (!numbers || !context.IsCut(0)) return Rows::kWhole;
  const DenseSlice slice =
      ResolveSlice(context.node(), context.Input(0), (*numbers)[0], (*numbers)[1], (*numbers)[2]);
  const bool all = slice.keeps_first && slice.begin[0] == 0 && slice.strides[0] == 1 &&
                   slice.sizes[0] == context.batch_rows();
  return all ? Rows::kEach : Rows::kWhole;
}

// A strided view of elements of `shape`.
StridedCopy::View ViewOf(const Shape& shape, const std::vector<int64_t>& begin,
                         const std::vector<int64_t>& steps) {
  StridedCopy::View view{.strides = StridesOf(shape)};
  for (size_t d = 0; d < view.strides.size(); ++d) {
    view.offset += begin[d] * view.strides[d];
    view.strides[d] *= steps[d];
  }
  return view;
}

// Copies `sizes` elements from a view of the whole tensor to a dense one.
void PlanPick(PlanContext& context, const Shape& whole, const DenseSlice& slice) {
  const StridedCopy copy(slice.sizes, ViewOf(whole, slice.begin, slice.strides),
                         {.strides = StridesOf(Shape(slice.sizes))},
                         ElementBytes(context.OutputDType(0)));
  const Buffer from = context.Input(0);
  const Buffer to = context.Output(0);
  context.Run([=](const Task& task) { copy.Run(task.At(from), task.At(to)); });
}

// Writes zeros, then the dense input into a view of the output.
void PlanPut(PlanContext& context, int input, const Shape& whole, const DenseSlice& slice) {
  const size_t element = ElementBytes(context.OutputDType(0));
  const StridedCopy copy(slice.sizes, {.strides = StridesOf(Shape(slice.sizes))},
                         ViewOf(whole, slice.begin, slice.strides), element);
  const Buffer from = context.Input(input);
  const Buffer to = context.Output(0);
  const size_t bytes = static_cast<size_t>(whole.elements()) * element;
  context.Run([=](const Task& task) {
    std::memset(task.At(to), 0, bytes);
    copy.Run(task.At(from), task.At(to));
  });
}

void PlanStridedSlice(PlanContext& context) {
  const auto numbers = NeedInts(context, 1, 3);
  const Shape& whole = context.InputShape(0);
  PlanPick(context, whole, ResolveSlice(context.node(), whole, numbers[0], numbers[1], numbers[2]));
}

// dy has the shape that the slice selects from the whole.
void StridedSliceGradShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "shape");
  const Shape whole = SizesFromInput(context, 0);
  context.Output(0, whole);
  const auto numbers = KnownInts(context.node(), 1, 3);
  if (!numbers || !whole.known_rank()) return;
  const DenseSlice slice =
      ResolveSlice(context.node(), whole, (*numbers)[0], (*numbers)[1], (*numbers)[2]);
  if (!slice.fault.empty()) context.Fail(slice.fault);
  if (!Compatible(slice.out, context.Input(4))) {
    context.Fail(fmt::format("the slice of {} is {}, but its gradient is {}", whole.Text(),
                             slice.out.Text(), context.Input(4).Text()));
  }
}

void GradOfStridedSliceGrad(GradContext& c) {
  c.SetDx(4, c.graph().Add("StridedSlice", {c.Dy(), c.input(1), c.input(2), c.input(3)},
                           MasksOf(c.node())));
}

Rows StridedSliceGradRows(RowContext& context) {
  const auto numbers = KnownInts(context.node(), 1, 3);
  if (!numbers || !context.IsCut(4) || context.Output(0).rank() == 0) return Rows::kWhole;
  const DenseSlice slice =
      ResolveSlice(context.node(), context.Output(0), (*numbers)[0], (*numbers)[1], (*numbers)[2]);
  const bool all = slice.keeps_first && slice.begin[0] == 0 && slice.strides[0] == 1 &&
                   slice.sizes[0] == context.batch_rows() &&
                   context.Output(0).dim(0) == context.batch_rows();
  return all ? Rows::kEach : Rows::kWhole;
}

void PlanStridedSliceGrad(PlanContext& context) {
  const auto numbers = NeedInts(context, 1, 3);
  const Shape& whole = context.OutputShape(0);
  PlanPut(context, 4, whole,
          ResolveSlice(context.node(), whole, numbers[0], numbers[1], numbers[2]));
}

void SliceShape(ShapeContext& context) {
  const Shape& in = context.Input(0);
  Shape out = ShapeFromValue(context.node().input(2));
  const Tensor begin_value = context.Constant(1);
  if (!in.known_rank() || !out.known_rank()) {
    return context.Output(0, in.known_rank() ? Shape(std::vector<int64_t>(in.dims().size(), -1))
                                             : Shape::UnknownRank());
  }
  if (out.rank() != in.rank()) {
    context.Fail(fmt::format("found {} sizes for {}", out.rank(), in.Text()));
  }
  if (!begin_value.valid()) return context.Output(0, out);
  const std::vector<int64_t> begin = IntsOf(begin_value);
  NeedRank(context, Shape(begin), in.rank(),
           "begin must have as many numbers as the input has axes");
  const bool to_the_end = context.Constant(2).valid();
  for (int d = 0; d < in.rank(); ++d) {
    const int64_t from = begin[static_cast<size_t>(d)];
    if (from > kMostElements || from < -kMostElements)
      context.Fail(fmt::format("begins at {}", from));
    if (to_the_end && out.dim(d) == -1 && in.dim(d) != kUnknownDim) {
      out.set_dim(d, in.dim(d) - from);
    }
    const bool known = in.dim(d) != kUnknownDim && out.dim(d) != kUnknownDim;
    if (from < 0 || (known && (out.dim(d) < 0 || out.dim(d) > in.dim(d) - from))) {
      context.Fail(fmt::format("begins at {} and takes {} on axis {} of {}", from, out.dim(d), d,
                               in.Text()));
    }
  }
  context.Output(0, out);
}

// Writes dy into zeros where it was taken from: a StridedSliceGrad from begin to begin + size.
void SliceGrad(GradContext& c) {
  const auto numbers = KnownInts(c.node(), 1, 2);
  const bool known = numbers && (*numbers)[0].size() == (*numbers)[1].size();
  NeedInGraph(c, known && c.input(0).shape().known_rank(), "the range that it selects");
  std::vector<int64_t> end = (*numbers)[0];
  int64_t end_mask = 0;
  for (size_t d = 0; d < end.size(); ++d) {
    if ((*numbers)[1][d] == -1) end_mask |= int64_t{1} << d;
    end[d] += (*numbers)[1][d];
  }
  Graph& graph = c.graph();
  c.SetDx(0, graph.Add("StridedSliceGrad",
                       {ShapeOf(c.input(0)), Int32s(graph, (*numbers)[0], "begin"),
                        Int32s(graph, end, "end"),
                        Int32s(graph, std::vector<int64_t>(end.size(), 1), "strides"), c.Dy()},
                       {{"end_mask", end_mask}}));
}

Rows SliceRows(RowContext& context) {
  const auto numbers = KnownInts(context.node(), 1, 1);
  const bool all = numbers && (*numbers)[0][0] == 0;
  return all ? KeepsFirstAxis(context) : Rows::kWhole;
}

void PlanSlice(PlanContext& context) {
  const auto numbers = NeedInts(context, 1, 1);
  const Shape& out = context.OutputShape(0);
  PlanPick(context, context.InputShape(0),
           {.begin = numbers[0],
            .strides = std::vector<int64_t>(numbers[0].size(), 1),
            .sizes = out.dims()});
}

void PadShape(ShapeContext& context) {
  const Tensor table = context.Constant(1);
  Shape shape = context.Input(0);
  if (!shape.known_rank() || !table.valid()) {
    return context.Output(0, shape.known_rank()
                                 ? Shape(std::vector<int64_t>(shape.dims().size(), kUnknownDim))
                                 : shape);
  }
  if (table.shape() != Shape({shape.rank(), 2})) {
    context.Fail(fmt::format("paddings must be [{},2] for {}, found {}", shape.rank(), shape.Text(),
                             table.shape().Text()));
  }
  const std::vector<int64_t> paddings = IntsOf(table);
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t before = paddings[2 * static_cast<size_t>(d)];
    const int64_t after = paddings[2 * static_cast<size_t>(d) + 1];
    if (before < 0 || after < 0) context.Fail("a padding is negative");
    if (std::max(before, after) > kMostElements)
      context.Fail("the result is too large for a tensor");
    if (shape.dim(d) != kUnknownDim) shape.set_dim(d, shape.dim(d) + before + after);
  }
  context.Output(0, shape);
}

std::vector<int64_t> BeforeOf(const std::vector<int64_t>& paddings) {
  std::vector<int64_t> before;
  for (size_t i = 0; i < paddings.size(); i += 2) before.push_back(paddings[i]);
  return before;
}

void PadGrad(GradContext& c) {
  const auto numbers = KnownInts(c.node(), 1, 1);
  NeedInGraph(c, numbers.has_value(), "its paddings");
  Graph& graph = c.graph();
  const Value begin = Int32s(graph, BeforeOf((*numbers)[0]), "begin");
  c.SetDx(0, graph.Add("Slice", {c.Dy(), begin, ShapeOf(c.input(0))}));
}

Rows PadRows(RowContext& context) {
  const auto numbers = KnownInts(context.node(), 1, 1);
  const bool none = numbers && (*numbers)[0][0] == 0 && (*numbers)[0][1] == 0;
  return none ? FirstInputRows(context) : Rows::kWhole;
}

void PlanPad(PlanContext& context) {
  const auto numbers = NeedInts(context, 1, 1);
  const std::vector<int64_t> before = BeforeOf(numbers[0]);
  PlanPut(context, 0, context.OutputShape(0),
          {.begin = before,
           .strides = std::vector<int64_t>(before.size(), 1),
           .sizes = context.InputShape(0).dims()});
}

// A slice along one axis in ascending order: a negative stride starts at its other end.
struct Upwards {
  int64_t begin, stride, size;
  [[nodiscard]] int64_t end() const { return size == 0 ? begin : begin + (size - 1) * stride + 1; }
};

std::vector<Upwards> UpwardsOf(const DenseSlice& slice) {
  std::vector<Upwards> axes;
  for (size_t d = 0; d < slice.begin.size(); ++d) {
    const int64_t size = slice.sizes[d];
    const int64_t last = slice.begin[d] + (size - 1) * slice.strides[d];
    const int64_t lowest = size == 0 ? 0 : std::min(slice.begin[d], last);
    axes.push_back({lowest, std::abs(slice.strides[d]), size});
  }
  return axes;
}

HloValue ReversedWhereNegative(HloBuilder& hlo, const HloValue& x, const DenseSlice& slice) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < slice.strides.size(); ++d) {
    if (slice.strides[d] < 0) axes.push_back(static_cast<int64_t>(d));
  }
  return axes.empty() ? x : hlo.Reverse(x, axes);
}

// Lowers the copy of PlanPick.
void LowerPick(LowerContext& c, const DenseSlice& slice) {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  std::vector<int64_t> strides;
  for (const Upwards& axis : UpwardsOf(slice)) {
    begin.push_back(axis.begin);
    end.push_back(axis.end());
    strides.push_back(axis.stride);
  }
  const HloValue picked = c.hlo().Slice(c.Input(0), begin, end, strides);
  c.Output(0, c.hlo().Reshape(ReversedWhereNegative(c.hlo(), picked, slice), c.OutputShape(0)));
}

// Lowers the write of PlanPut.
void LowerPut(LowerContext& c, int input, const DenseSlice& slice) {
  const Shape& whole = c.OutputShape(0);
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  std::vector<int64_t> between;
  for (const Upwards& axis : UpwardsOf(slice)) {
    low.push_back(axis.begin);
    high.push_back(whole.dim(static_cast<int>(high.size())) - axis.end());
    between.push_back(axis.stride - 1);
  }
  const HloValue values = c.hlo().Reshape(c.Input(input), Shape(slice.sizes));
  c.Output(0, c.hlo().Pad(ReversedWhereNegative(c.hlo(), values, slice), 0, low, high, between));
}

void LowerStridedSlice(LowerContext& c) {
  LowerPick(c, ResolveSlice(c.node(), c.Input(0).shape, IntsOfInput(c, 1), IntsOfInput(c, 2),
                            IntsOfInput(c, 3)));
}

void LowerStridedSliceGrad(LowerContext& c) {
  LowerPut(c, 4,
           ResolveSlice(c.node(), c.OutputShape(0), IntsOfInput(c, 1), IntsOfInput(c, 2),
                        IntsOfInput(c, 3)));
}

void LowerSlice(LowerContext& c) {
  const std::vector<int64_t> begin = IntsOfInput(c, 1);
  LowerPick(c, {.begin = begin,
                .strides = std::vector<int64_t>(begin.size(), 1),
                .sizes = c.OutputShape(0).dims()});
}

void LowerPad(LowerContext& c) {
  const std::vector<int64_t> before = BeforeOf(IntsOfInput(c, 1));
  LowerPut(c, 0,
           {.begin = before,
            .strides = std::vector<int64_t>(before.size(), 1),
            .sizes = c.Input(0).shape.dims()});
}

const OpDef kSliceOps[] = {
    {.name = "StridedSlice",
     .signature = "input: T, begin: Index, end: Index, strides: Index -> output: T; T: type; "
                  "Index: int32|int64; begin_mask: int = 0; end_mask: int = 0; "
                  "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
     .shape = StridedSliceShape,
     .grad = StridedSliceGradient,
     .cpu = PlanStridedSlice,
     .hlo = LowerStridedSlice,
     .rows = StridedSliceRows},
    {.name = "StridedSliceGrad",
     .signature = "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T; "
                  "T: type; Index: int32|int64; begin_mask: int = 0; end_mask: int = 0; "
                  "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
     .shape = StridedSliceGradShape,
     .grad = GradOfStridedSliceGrad,
     .cpu = PlanStridedSliceGrad,
     .hlo = LowerStridedSliceGrad,
     .rows = StridedSliceGradRows},
    {.name = "Slice",
     .signature = "input: T, begin: Index, size: Index -> output: T; T: type; Index: int32|int64",
     .shape = SliceShape,
     .grad = SliceGrad,
     .cpu = PlanSlice,
     .hlo = LowerSlice,
     .rows = SliceRows},
    {.name = "Pad",
     .signature = "input: T, paddings: Tpaddings -> output: T; T: type; "
                  "Tpaddings: int32|int64 = int32",
     .shape = PadShape,
     .grad = PadGrad,
     .cpu = PlanPad,
     .hlo = LowerPad,
     .rows = PadRows},
};

}  // namespace

OpFamily SliceOps() { return kSliceOps; }

}  // namespace tpuest::ops
