// Turning axes around: whole axes, or the first elements of each row of a batch.

#include <algorithm>
#include <cstring>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/hlo_math.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value ReverseV2(Value x, const std::vector<int64_t>& axes, std::string_view name) {
  return x.graph().Add("ReverseV2", {x, Int32s(x.graph(), axes, "axis")}, {}, name);
}

Value ReverseSequence(Value x, Value lengths, int seq_axis, int batch_axis, std::string_view name) {
  return x.graph().Add("ReverseSequence", {x, lengths},
                       {{"seq_dim", int64_t{seq_axis}}, {"batch_dim", int64_t{batch_axis}}}, name);
}

namespace {

// Checks the axes and returns them in 0 <= axis < rank.
std::vector<int64_t> ReversedAxes(const ShapeContext& context, const Tensor& given, int rank) {
  std::vector<int64_t> axes;
  for (const int64_t axis : IntsOf(given)) {
    axes.push_back(AxisIn(context, axis, rank));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) {
      context.Fail(fmt::format("axis {} is named twice", axes.back()));
    }
  }
  return axes;
}

void ReverseShape(ShapeContext& context) {
  const Shape& x = context.Input(0);
  NeedRank(context, context.Input(1), 1, "axis");
  const Tensor axes = context.Constant(1);
  if (x.known_rank() && axes.valid()) (void)ReversedAxes(context, axes, x.rank());
  context.Output(0, x);
}

void ReverseGrad(GradContext& c) { c.SetDx(0, c.graph().Add("ReverseV2", {c.Dy(), c.input(1)})); }

bool TurnsRows(const RowContext& context) {
  const Tensor axes = ConstantValue(context.node().input(1));
  if (!axes.valid()) return true;
  const int rank = context.Input(0).rank();
  const std::vector<int64_t> given = IntsOf(axes);
  return std::any_of(given.begin(), given.end(),
                     [&](int64_t axis) { return NormalAxis(axis, rank) == 0; });
}

Rows ReverseRows(RowContext& context) {
  return TurnsRows(context) ? Rows::kWhole : FirstInputRows(context);
}

void PlanReverse(PlanContext& context) {
  const Shape& shape = context.InputShape(0);
  const std::vector<int64_t> strides = StridesOf(shape);
  StridedCopy::View from{.strides = strides};
  for (const int64_t given : NeedConstant(context.node(), 1)) {
    const auto axis = static_cast<size_t>(NormalAxis(given, shape.rank()));
    from.strides[axis] = -strides[axis];
    from.offset += (shape.dims()[axis] - 1) * strides[axis];
  }
  const StridedCopy copy(shape.dims(), from, {.strides = strides},
                         ElementBytes(context.OutputDType(0)));
  const Buffer x = context.Input(0);
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) { copy.Run(task.At(x), task.At(out)); });
}

void LowerReverse(LowerContext& c) {
  const HloValue x = c.Input(0);
  std::vector<int64_t> axes;
  for (const int64_t axis : IntsOfInput(c, 1)) axes.push_back(NormalAxis(axis, x.rank()));
  c.Output(0, axes.empty() ? x : c.hlo().Reverse(x, axes));
}

// The axes of a ReverseSequence, in 0 <= axis < rank.
struct SequenceAxes {
  size_t sequence = 0, batch = 0;
};

SequenceAxes SequenceAxesOf(const Node& node, int rank) {
  const auto at = [&](const char* attr) {
    return static_cast<size_t>(NormalAxis(node.Attr<int64_t>(attr), rank));
  };
  return {at("seq_dim"), at("batch_dim")};
}

void ReverseSequenceShape(ShapeContext& context) {
  const Shape& x = context.Input(0);
  NeedRank(context, context.Input(1), 1, "seq_lengths");
  if (!x.known_rank()) return context.Output(0, x);
  const int64_t sequence = AxisIn(context, context.node().Attr<int64_t>("seq_dim"), x.rank());
  const int64_t batch = AxisIn(context, context.node().Attr<int64_t>("batch_dim"), x.rank());
  if (sequence == batch) {
    context.Fail(fmt::format("batch_dim and seq_dim are both {}", batch));
  }
  const Shape& lengths = context.Input(1);
  const int64_t rows = x.dim(static_cast<int>(batch));
  if (lengths.known_rank() && lengths.dim(0) != kUnknownDim && rows != kUnknownDim &&
      lengths.dim(0) != rows) {
    context.Fail(fmt::format("axis {} of {} has {} rows, seq_lengths {}", batch, x.Text(), rows,
                             lengths.dim(0)));
  }
  context.Output(0, x);
}

void ReverseSequenceGrad(GradContext& c) {
  const Node& node = c.node();
  c.SetDx(0, c.graph().Add("ReverseSequence", {c.Dy(), c.input(1)},
                           {{"seq_dim", node.Attr<int64_t>("seq_dim")},
                            {"batch_dim", node.Attr<int64_t>("batch_dim")}}));
}

Rows ReverseSequenceRows(RowContext& context) {
  const SequenceAxes axes = SequenceAxesOf(context.node(), context.Input(0).rank());
  return axes.batch == 0 ? AllCut(context, 0, 1) : Rows::kWhole;
}

// Offsets and strides in elements. `outer` counts the axes before both of the op's axes, `middle`
// those between them; `run` elements follow each other in both.
struct SequencePlan {
  Buffer x, lengths, out;
  int64_t rows, row_stride;
  int64_t steps, step_stride;
  int64_t outer, outer_stride;
  int64_t middle, middle_stride;
  int64_t run;
  size_t element_bytes;
  bool wide;  // lengths are int64
  const Node* node;
};

int64_t LengthOf(const SequencePlan& plan, const Task& task, int64_t row) {
  const int64_t length =
      plan.wide ? task.At<int64_t>(plan.lengths)[row] : task.At<int32_t>(plan.lengths)[row];
  if (length < 0 || length > plan.steps) [[unlikely]] {
    FailInData(*plan.node,
               fmt::format("seq_lengths of row {} is {}, expected 0 to {}",
                           static_cast<int64_t>(task.row_begin) + row, length, plan.steps));
  }
  return length;
}

void RunReverseSequence(const SequencePlan& plan, const Task& task) {
  const auto bytes_of = [&](int64_t elements) {
    return static_cast<size_t>(elements) * plan.element_bytes;
  };
  const char* const x = task.At<char>(plan.x);
  char* const out = task.At<char>(plan.out);
  for (int64_t row = 0; row < plan.rows; ++row) {
    const int64_t length = LengthOf(plan, task, row);
    for (int64_t part = 0; part < plan.outer * plan.middle; ++part) {
      const int64_t begin = part / plan.middle * plan.outer_stride +
                            part % plan.middle * plan.middle_stride + row * plan.row_stride;
      for (int64_t t = 0; t < plan.steps; ++t) {
        const int64_t source = t < length ? length - 1 - t : t;
        std::memcpy(out + bytes_of(begin + t * plan.step_stride),
                    x + bytes_of(begin + source * plan.step_stride), bytes_of(plan.run));
      }
    }
  }
}

void PlanReverseSequence(PlanContext& context) {
  const std::vector<int64_t>& dims = context.InputShape(0).dims();
  const std::vector<int64_t> strides = StridesOf(context.InputShape(0));
  const SequenceAxes axes = SequenceAxesOf(context.node(), context.InputShape(0).rank());
  const size_t first = std::min(axes.batch, axes.sequence);
  const size_t second = std::max(axes.batch, axes.sequence);
  const auto span = [&](size_t begin, size_t end) {
    int64_t product = 1;
    for (size_t d = begin; d < end; ++d) product *= dims[d];
    return product;
  };
  const SequencePlan plan{.x = context.Input(0),
                          .lengths = context.Input(1),
                          .out = context.Output(0),
                          .rows = dims[axes.batch],
                          .row_stride = strides[axes.batch],
                          .steps = dims[axes.sequence],
                          .step_stride = strides[axes.sequence],
                          .outer = span(0, first),
                          .outer_stride = dims[first] * strides[first],
                          .middle = span(first + 1, second),
                          .middle_stride = dims[second] * strides[second],
                          .run = strides[second],
                          .element_bytes = ElementBytes(context.OutputDType(0)),
                          .wide = context.InputDType(1) == DType::kInt64,
                          .node = &context.node()};
  context.Run([plan](const Task& task) { RunReverseSequence(plan, task); });
}

// Picks step (t < length ? length - 1 - t : t) of each row. A length above the number of steps
// counts as that number.
void LowerReverseSequence(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue x = c.Input(0);
  const SequenceAxes axes = SequenceAxesOf(c.node(), x.rank());
  std::vector<int64_t> perm{static_cast<int64_t>(axes.batch), static_cast<int64_t>(axes.sequence)};
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != perm[0] && d != perm[1]) perm.push_back(d);
  }
  const HloValue turned = hlo.Transpose(x, perm);
  const int64_t rows = turned.shape.dim(0);
  const int64_t steps = turned.shape.dim(1);
  const Shape grid({rows, steps});
  const HloTerm t(hlo, hlo.Iota(DType::kInt32, grid, 1));
  const HloTerm row(hlo, hlo.Iota(DType::kInt32, grid, 0));
  const HloTerm length(hlo, hlo.BroadcastInDim(hlo.Convert(c.Input(1), DType::kInt32), grid, {0}));
  const HloTerm source = Where(t < length, length - 1.0 - t, t);
  const HloTerm place = row * static_cast<double>(steps) + source;
  const int64_t inner = rows * steps == 0 ? 0 : turned.shape.elements() / (rows * steps);
  const HloValue flat = hlo.Reshape(turned, Shape({rows * steps, inner}));
  const HloValue picked = hlo.Reshape(
      hlo.GatherRows(flat, hlo.Reshape(place.value(), Shape({rows * steps}))), turned.shape);
  std::vector<int64_t> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  c.Output(0, hlo.Transpose(picked, back));
}

const OpDef kReverseOps[] = {
    {.name = "ReverseV2",
     .signature = "tensor: T, axis: Tidx -> output: T; Tidx: int32|int64 = int32; "
                  "T: bfloat16|float|double|int8|uint8|int32|int64|bool|string",
     .shape = ReverseShape,
     .grad = ReverseGrad,
     .cpu = PlanReverse,
     .hlo = LowerReverse,
     .rows = ReverseRows},
    {.name = "ReverseSequence",
     .signature = "input: T, seq_lengths: Tlen -> output: T; seq_dim: int; batch_dim: int = 0; "
                  "T: bfloat16|float|double|int8|uint8|int32|int64|bool|string; "
                  "Tlen: int32|int64 = int64",
     .shape = ReverseSequenceShape,
     .grad = ReverseSequenceGrad,
     .cpu = PlanReverseSequence,
     .hlo = LowerReverseSequence,
     .rows = ReverseSequenceRows},
};

}  // namespace

OpFamily ReverseOps() { return kReverseOps; }

}  // namespace tpuest::ops
