// Selections and sums of more than two values.

#include <algorithm>

#include "core/backend/hlo/lower.h"
#include "core/graph/flops.h"
#include "core/kernels/broadcast.h"
#include "core/kernels/isa/binary.h"
#include "core/kernels/strided_copy.h"
#include "core/ops/elementwise.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value SelectV2(Value condition, Value x, Value y, std::string_view name) {
  return x.graph().Add("SelectV2", {condition, x, y}, {}, name);
}

Value AddN(std::vector<Value> values, std::string_view name) {
  if (values.size() == 1) return values[0];
  Graph& graph = values.front().graph();
  return graph.Add("AddN", std::move(values), {}, name);
}

Value ClipByValue(Value x, Value low, Value high, std::string_view name) {
  return Maximum(Minimum(x, high), low, name);
}

Value ClipByValue(Value x, double low, double high, std::string_view name) {
  return Maximum(Minimum(x, high), low, name);
}

namespace {

// Select's condition may be a vector that selects whole rows.
bool ChoosesRows(const Shape& condition, const Shape& x) {
  return condition.known_rank() && x.known_rank() && condition.rank() == 1 && x.rank() > 1;
}

// Returns the condition's shape followed by 1s, so that it broadcasts along the rows.
Shape AsColumn(const Shape& condition, int rank) {
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[0] = condition.dim(0);
  return Shape(dims);
}

void SelectShape(ShapeContext& context) {
  const Shape& condition = context.Input(0);
  const std::optional<Shape> x = MergeOf(context.Input(1), context.Input(2));
  if (!x) {
    context.Fail(fmt::format("chooses between values of the same shape, found {} and {}",
                             context.Input(1).Text(), context.Input(2).Text()));
  }
  const bool fits = !condition.known_rank() || condition.rank() == 0 || Compatible(condition, *x) ||
                    (ChoosesRows(condition, *x) && Compatible(condition, Shape({x->dim(0)})));
  if (!fits) {
    context.Fail(fmt::format("the condition {} fits neither the values {} nor their rows",
                             condition.Text(), x->Text()));
  }
  context.Output(0, *x);
}

void SelectGrad(GradContext& c) {
  const Value condition = c.input(0);
  const Value zeros = c.graph().Add("ZerosLike", {c.Dy()});
  c.SetDx(1, c.graph().Add("Select", {condition, c.Dy(), zeros}));
  c.SetDx(2, c.graph().Add("Select", {condition, zeros, c.Dy()}));
}

void SelectV2Grad(GradContext& c) {
  const Value zero = c.graph().ScalarOf(c.Dy().dtype(), 0);
  c.SetDx(1, SumToShapeOf(SelectV2(c.input(0), c.Dy(), zero), c.input(1)));
  c.SetDx(2, SumToShapeOf(SelectV2(c.input(0), zero, c.Dy()), c.input(2)));
}

Rows SelectRows(RowContext& context) {
  if (context.Input(0).rank() == 0) {
    return context.IsCut(0) ? Rows::kWhole : AllCut(context, 1, 2);
  }
  return AllCut(context, 0, 2);
}

template <class T>
void ChooseEach(const bool* condition, const char* x_raw, const char* y_raw, char* out_raw,
                int64_t n, int64_t step_condition, int64_t step_x, int64_t step_y) {
  const T* const x = reinterpret_cast<const T*>(x_raw);
  const T* const y = reinterpret_cast<const T*>(y_raw);
  T* const out = reinterpret_cast<T*>(out_raw);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i] = condition[i * step_condition] ? x[i * step_x] : y[i * step_y];
  }
}

using ChooseKernel = void (*)(const bool*, const char*, const char*, char*, int64_t, int64_t,
                              int64_t, int64_t);

ChooseKernel FindChoose(size_t bytes) {
  switch (bytes) {
    case 1:
      return ChooseEach<uint8_t>;
    case 2:
      return ChooseEach<uint16_t>;
    case 4:
      return ChooseEach<uint32_t>;
    case 8:
      return ChooseEach<uint64_t>;
    default:
      return ChooseEach<std::string_view>;
  }
}

void PlanChoice(PlanContext& context, const Shape& condition_shape) {
  const size_t bytes = ElementBytes(context.OutputDType(0));
  const ChooseKernel choose = FindChoose(bytes);
  AllowInPlaceOfSame(context);
  const Buffer condition = context.Input(0);
  const Buffer x = context.Input(1);
  const Buffer y = context.Input(2);
  const Buffer out = context.Output(0);
  const Broadcast walk(context.OutputShape(0),
                       {condition_shape, context.InputShape(1), context.InputShape(2)});
  const auto width = static_cast<int64_t>(bytes);
  context.Run([=](const Task& task) {
    walk.ForEachRun([&](int64_t at, const Broadcast::Offsets& offsets) {
      choose(task.At<bool>(condition) + offsets[0], task.At<char>(x) + offsets[1] * width,
             task.At<char>(y) + offsets[2] * width, task.At<char>(out) + at * width, walk.run(),
             walk.step(0), walk.step(1), walk.step(2));
    });
  });
}

void PlanSelectV2(PlanContext& context) { PlanChoice(context, context.InputShape(0)); }

void PlanSelect(PlanContext& context) {
  const Shape& condition = context.InputShape(0);
  const Shape& x = context.InputShape(1);
  PlanChoice(context, ChoosesRows(condition, x) ? AsColumn(condition, x.rank()) : condition);
}

void AddNGrad(GradContext& c) {
  for (size_t i = 0; i < c.node().inputs().size(); ++i) c.SetDx(static_cast<int>(i), c.Dy());
}

void PlanAddN(PlanContext& context) {
  if (context.inputs() == 1) return context.Alias(0, 0);
  const DType dtype = context.OutputDType(0);
  const BinaryKernel add = FindBinary(Binary::kAdd, dtype);
  Check(add != nullptr, "AddN has no kernel for {}", NameOf(dtype));
  // Only the first input may be overwritten, and only if it occurs once, because all other inputs
  // are read after the result is begun.
  const std::vector<Value>& inputs = context.node().inputs();
  if (std::count(inputs.begin(), inputs.end(), inputs[0]) == 1) context.AllowInPlace(0, 0);
  std::vector<Buffer> values;
  for (int i = 0; i < context.inputs(); ++i) values.push_back(context.Input(i));
  const Buffer out = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    add(task.At(values[0]), task.At(values[1]), task.At(out), n, 1, 1);
    for (size_t i = 2; i < values.size(); ++i) {
      add(task.At(out), task.At(values[i]), task.At(out), n, 1, 1);
    }
  });
}

void LowerSelectV2(LowerContext& c) {
  c.Output(0, c.hlo().Select(c.Input(0), c.Input(1), c.Input(2)));
}

void LowerSelect(LowerContext& c) {
  HloValue condition = c.Input(0);
  const HloValue x = c.Input(1);
  if (ChoosesRows(condition.shape, x.shape)) {
    condition = c.hlo().Reshape(condition, AsColumn(condition.shape, x.rank()));
  }
  c.Output(0, c.hlo().Select(condition, x, c.Input(2)));
}

// Rounds each sum of two, as the kernel does.
void LowerAddN(LowerContext& c) {
  HloValue sum = c.Input(0);
  for (int i = 1; i < c.inputs(); ++i) sum = c.hlo().Binary("add", sum, c.Input(i));
  c.Output(0, sum);
}

const OpDef kSelectOps[] = {
    {.name = "SelectV2",
     .signature = "condition: bool, t: T, e: T -> output: T; T: type",
     .shape = BroadcastShape,
     .grad = SelectV2Grad,
     .cpu = PlanSelectV2,
     .hlo = LowerSelectV2,
     .rows = BroadcastRows},
    {.name = "Select",
     .signature = "condition: bool, t: T, e: T -> output: T; T: type",
     .shape = SelectShape,
     .grad = SelectGrad,
     .cpu = PlanSelect,
     .hlo = LowerSelect,
     .rows = SelectRows},
    // The sum of one value is a view of it.
    {.name = "AddN",
     .signature = "inputs: N*T -> sum: T; N: int >= 1; T: bfloat16|float|double|int32|int64",
     .shape = SameInputsShape,
     .grad = AddNGrad,
     .cpu = PlanAddN,
     .hlo = LowerAddN,
     .rows = BroadcastRows,
     .flops = OutputFlops,
     .alias = true},
};

}  // namespace

OpFamily SelectOps() { return kSelectOps; }

}  // namespace tpuest::ops
