// Ops that reorder or repeat x's elements.

#include <algorithm>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value Transpose(Value x, const std::vector<int64_t>& perm, std::string_view name) {
  return x.graph().Add("Transpose", {x, Int32s(x.graph(), perm, "perm")}, {}, name);
}

Value Tile(Value x, const std::vector<int64_t>& multiples, std::string_view name) {
  return x.graph().Add("Tile", {x, Int32s(x.graph(), multiples, "multiples")}, {}, name);
}

Value BroadcastTo(Value x, Value shape, std::string_view name) {
  return x.graph().Add("BroadcastTo", {x, shape}, {}, name);
}

Value BroadcastTo(Value x, const Shape& shape, std::string_view name) {
  return BroadcastTo(x, Int32s(x.graph(), shape.dims(), "shape"), name);
}

namespace {

bool FirstNumberIs(const RowContext& context, int input, int64_t number) {
  const Tensor value = ConstantValue(context.node().input(input));
  return value.valid() && value.elements() > 0 && IntsOf(value)[0] == number;
}

void TransposeShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  const Tensor value = context.Constant(1);
  if (!value.valid()) {
    return context.Output(0, shape.known_rank()
                                 ? Shape(std::vector<int64_t>(shape.dims().size(), kUnknownDim))
                                 : shape);
  }
  const std::vector<int64_t> perm = IntsOf(value);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  // The gradient relies on it even where the rank is unknown.
  bool fits = !shape.known_rank() || static_cast<int>(perm.size()) == shape.rank();
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int64_t>(i);
  if (!fits) {
    context.Fail(fmt::format("[{}] is not a permutation of the axes of {}", fmt::join(perm, ","),
                             shape.Text()));
  }
  if (!shape.known_rank()) return context.Output(0, shape);
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(shape.dims()[static_cast<size_t>(axis)]);
  context.Output(0, Shape(dims));
}

void TransposeGrad(GradContext& c) {
  const std::vector<int64_t> perm = NeedConstant(c.node(), 1);
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  c.SetDx(0, Transpose(c.Dy(), inverse));
}

Rows TransposeRows(RowContext& context) {
  return FirstNumberIs(context, 1, 0) ? FirstInputRows(context) : Rows::kWhole;
}

void PlanCopy(PlanContext& context, const std::vector<int64_t>& dims,
              const std::vector<int64_t>& strides) {
  const StridedCopy copy(dims, {.strides = strides}, {.strides = StridesOf(Shape(dims))},
                         ElementBytes(context.OutputDType(0)));
  const Buffer from = context.Input(0);
  const Buffer to = context.Output(0);
  context.Run([=](const Task& task) { copy.Run(task.At(from), task.At(to)); });
}

void PlanTranspose(PlanContext& context) {
  const std::vector<int64_t> in = StridesOf(context.InputShape(0));
  std::vector<int64_t> strides;
  for (const int64_t axis : NeedConstant(context.node(), 1)) {
    strides.push_back(in[static_cast<size_t>(axis)]);
  }
  PlanCopy(context, context.OutputShape(0).dims(), strides);
}

void LowerTranspose(LowerContext& c) {
  c.Output(0, c.hlo().Transpose(c.Input(0), IntsOfInput(c, 1)));
}

void TileShape(ShapeContext& context) {
  Shape shape = context.Input(0);
  const Tensor value = context.Constant(1);
  if (!shape.known_rank()) return context.Output(0, shape);
  if (!value.valid()) {
    return context.Output(0, Shape(std::vector<int64_t>(shape.dims().size(), kUnknownDim)));
  }
  const std::vector<int64_t> multiples = IntsOf(value);
  if (static_cast<int>(multiples.size()) != shape.rank()) {
    context.Fail(fmt::format("{} multiples for {}", multiples.size(), shape.Text()));
  }
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t multiple = multiples[static_cast<size_t>(d)];
    if (multiple < 0) context.Fail(fmt::format("multiple {} is negative", multiple));
    int64_t size = shape.dim(d);
    if (size == kUnknownDim) continue;
    if (__builtin_mul_overflow(size, multiple, &size))
      context.Fail("the result is too large for a tensor");
    shape.set_dim(d, size);
  }
  context.Output(0, shape);
}

// Reshapes each repeated axis of dy to [multiple, size] and sums over the multiples.
void TileGrad(GradContext& c) {
  NeedInGraph(c, c.input(0).shape().known_rank(), "the rank of its input");
  const std::vector<int64_t> multiples = NeedConstant(c.node(), 1);
  const Shape& shape = c.input(0).shape();
  std::vector<int64_t> dims;
  std::vector<int64_t> repeats;
  for (size_t d = 0; d < multiples.size(); ++d) {
    if (multiples[d] != 1) {
      repeats.push_back(static_cast<int64_t>(dims.size()));
      dims.push_back(multiples[d]);
    }
    dims.push_back(shape.dims()[d]);
  }
  c.SetDx(0, repeats.empty() ? c.Dy() : Sum(Reshape(c.Dy(), Shape(dims)), repeats));
}

Rows TileRows(RowContext& context) {
  return FirstNumberIs(context, 1, 1) ? FirstInputRows(context) : Rows::kWhole;
}

void PlanTile(PlanContext& context) {
  const Shape& in = context.InputShape(0);
  const std::vector<int64_t> multiples = NeedConstant(context.node(), 1);
  const std::vector<int64_t> in_strides = StridesOf(in);
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < multiples.size(); ++d) {
    dims.insert(dims.end(), {multiples[d], in.dims()[d]});
    strides.insert(strides.end(), {0, in_strides[d]});
  }
  PlanCopy(context, dims, strides);
}

// Reshapes axis d of x to [multiple, size].
void LowerTile(LowerContext& c) {
  const HloValue x = c.Input(0);
  const std::vector<int64_t> multiples = IntsOfInput(c, 1);
  std::vector<int64_t> repeated;
  std::vector<int64_t> axes;
  for (int d = 0; d < x.rank(); ++d) {
    repeated.insert(repeated.end(), {multiples[static_cast<size_t>(d)], x.dim(d)});
    axes.push_back(2 * d + 1);
  }
  c.Output(0, c.hlo().Reshape(c.hlo().BroadcastInDim(x, Shape(repeated), axes), c.OutputShape(0)));
}

void BroadcastToShape(ShapeContext& context) {
  const Shape& from = context.Input(0);
  Shape to = SizesFromInput(context, 1);
  if (!from.known_rank() || !to.known_rank()) return context.Output(0, to);
  const std::optional<Shape> both = BroadcastOf(from, to);
  if (!both || both->rank() != to.rank()) {
    context.Fail(fmt::format("{} does not broadcast to {}", from.Text(), to.Text()));
  }
  context.Output(0, *both);
}

void BroadcastToGrad(GradContext& c) { c.SetDx(0, SumToShapeOf(c.Dy(), c.input(0))); }

// The rows of the batch are rows of the input, or come from the shape if the input has none.
Rows BroadcastToRows(RowContext& context) {
  const Shape& in = context.Input(0);
  const Shape& out = context.Output(0);
  if (out.rank() == 0 || out.dim(0) != context.batch_rows()) return Rows::kWhole;
  const bool has_rows = in.rank() == out.rank() && in.dim(0) == out.dim(0);
  if (context.IsCut(0)) return has_rows ? Rows::kEach : Rows::kWhole;
  if (has_rows) context.Cut(0);
  return Rows::kEach;
}

void PlanBroadcastTo(PlanContext& context) {
  const Shape& in = context.InputShape(0);
  const Shape& out = context.OutputShape(0);
  const std::vector<int64_t> in_strides = StridesOf(in);
  std::vector<int64_t> strides(out.dims().size(), 0);
  for (int back = 1; back <= in.rank(); ++back) {
    if (in.dim(-back) == 1) continue;
    strides[strides.size() - static_cast<size_t>(back)] =
        in_strides[in_strides.size() - static_cast<size_t>(back)];
  }
  PlanCopy(context, out.dims(), strides);
}

void LowerBroadcastTo(LowerContext& c) {
  c.Output(0, c.hlo().Broadcast(c.Input(0), c.OutputShape(0)));
}

const OpDef kLayoutOps[] = {
    {.name = "Transpose",
     .signature = "x: T, perm: Tperm -> y: T; T: type; Tperm: int32|int64 = int32",
     .shape = TransposeShape,
     .grad = TransposeGrad,
     .cpu = PlanTranspose,
     .hlo = LowerTranspose,
     .rows = TransposeRows},
    {.name = "Tile",
     .signature = "input: T, multiples: Tmultiples -> output: T; T: type; "
                  "Tmultiples: int32|int64 = int32",
     .shape = TileShape,
     .grad = TileGrad,
     .cpu = PlanTile,
     .hlo = LowerTile,
     .rows = TileRows},
    {.name = "BroadcastTo",
     .signature = "input: T, shape: Tidx -> output: T; T: type; Tidx: int32|int64 = int32",
     .shape = BroadcastToShape,
     .grad = BroadcastToGrad,
     .cpu = PlanBroadcastTo,
     .hlo = LowerBroadcastTo,
     .rows = BroadcastToRows},
};

}  // namespace

OpFamily LayoutOps() { return kLayoutOps; }

}  // namespace tpuest::ops
