// Values that depend on nothing or only on a shape.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value Int32s(Graph& graph, const std::vector<int64_t>& values, std::string_view name) {
  const auto size = static_cast<int64_t>(values.size());
  const bool fits = std::all_of(values.begin(), values.end(),
                                [](int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; });
  const Tensor numbers = Tensor::Of<int64_t>({size}, values);
  return graph.Constant(fits ? numbers.Cast(DType::kInt32) : numbers, name);
}

Value Full(Graph& graph, DType dtype, const Shape& shape, double value, std::string_view name) {
  Tensor tensor(DType::kDouble, shape);
  std::fill_n(tensor.data<double>(), tensor.elements(), value);
  return graph.Constant(tensor.Cast(dtype), name);
}

Value Zeros(Graph& graph, DType dtype, const Shape& shape, std::string_view name) {
  return graph.Constant(Tensor(dtype, shape), name);
}

Value Ones(Graph& graph, DType dtype, const Shape& shape, std::string_view name) {
  return Full(graph, dtype, shape, 1, name);
}

Value Fill(Value dims, Value value, std::string_view name) {
  return dims.graph().Add("Fill", {dims, value}, {}, name);
}

Value ZerosLike(Value x, std::string_view name) {
  return x.graph().Add("ZerosLike", {x}, {}, name);
}

Value OnesLike(Value x, std::string_view name) { return x.graph().Add("OnesLike", {x}, {}, name); }

Value Range(Value start, Value limit, Value delta, std::string_view name) {
  return start.graph().Add("Range", {start, limit, delta}, {}, name);
}

namespace {

void ConstShape(ShapeContext& context) {
  context.Output(0, context.node().Attr<Tensor>("value").shape());
}

void PlanConst(PlanContext& context) {
  const Tensor value = context.Attr<Tensor>("value");
  const Buffer out = context.Output(0);
  const size_t bytes = static_cast<size_t>(value.elements()) * ElementBytes(value.dtype());
  context.Run([=](const Task& task) { std::memcpy(task.At(out), value.raw(), bytes); });
}

void LowerConst(LowerContext& c) { c.Output(0, c.hlo().Constant(c.Attr<Tensor>("value"))); }

void PlaceholderShape(ShapeContext& context) {
  context.Output(0, context.node().Attr<Shape>("shape"));
}

void PlanPlaceholder(PlanContext& context) {
  throw Error(Code::kUsage, fmt::format("placeholder '{}' is not fed", context.node().name()))
      .At(context.node().origin());
}

void FillShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "dims");
  NeedRank(context, context.Input(1), 0, "value");
  context.Output(0, SizesFromInput(context, 0));
}

void FillGrad(GradContext& c) { c.SetDx(1, Sum(c.Dy())); }

Rows FillRows(RowContext& context) {
  return context.IsCut(0) && !context.IsCut(1) ? Rows::kEach : Rows::kWhole;
}

void PlanFill(PlanContext& context) {
  const Buffer value = context.Input(1);
  const Buffer out = context.Output(0);
  const StridedCopy copy({context.OutputShape(0).elements()}, {.strides = {0}}, {.strides = {1}},
                         ElementBytes(context.OutputDType(0)));
  context.Run([=](const Task& task) { copy.Run(task.At(value), task.At(out)); });
}

void LowerFill(LowerContext& c) { c.Output(0, c.hlo().Broadcast(c.Input(1), c.OutputShape(0))); }

void PlanZeros(PlanContext& context) {
  const Buffer out = context.Output(0);
  const size_t bytes =
      static_cast<size_t>(context.OutputShape(0).elements()) * ElementBytes(context.OutputDType(0));
  context.Run([=](const Task& task) { std::memset(task.At(out), 0, bytes); });
}

void PlanOnes(PlanContext& context) {
  const Buffer out = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  const bool known = DispatchDType(context.OutputDType(0), [&]<class T>() {
    context.Run([=](const Task& task) { std::fill_n(task.At<T>(out), n, ConvertTo<T>(1)); });
  });
  Check(known, "OnesLike of {}", NameOf(context.OutputDType(0)));
}

void LowerZeros(LowerContext& c) { c.Output(0, c.hlo().FullLike(c.Input(0), 0)); }
void LowerOnes(LowerContext& c) { c.Output(0, c.hlo().FullLike(c.Input(0), 1)); }

void RangeShape(ShapeContext& context) {
  for (int i = 0; i < 3; ++i) NeedRank(context, context.Input(i), 0, "each of start, limit, delta");
  const Tensor start = context.Constant(0);
  const Tensor limit = context.Constant(1);
  const Tensor delta = context.Constant(2);
  if (!start.valid() || !limit.valid() || !delta.valid()) {
    return context.Output(0, Shape({kUnknownDim}));
  }
  const double step = delta.AsDouble(0);
  if (step == 0) context.Fail("delta is 0");
  const double steps = std::ceil((limit.AsDouble(0) - start.AsDouble(0)) / step);
  if (!(steps <= static_cast<double>(kMostElements)))
    context.Fail("the result is too large for a tensor");
  context.Output(0, Shape({steps > 0 ? static_cast<int64_t>(steps) : 0}));
}

void PlanRange(PlanContext& context) {
  const Buffer start = context.Input(0);
  const Buffer delta = context.Input(2);
  const Buffer out = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  const bool known = DispatchDType(context.OutputDType(0), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
      context.Run([=](const Task& task) {
        const Wide first = ConvertTo<Wide>(*task.At<T>(start));
        const Wide step = ConvertTo<Wide>(*task.At<T>(delta));
        for (int64_t i = 0; i < n; ++i) {
          task.At<T>(out)[i] = ConvertTo<T>(static_cast<Wide>(first + static_cast<Wide>(i) * step));
        }
      });
    }
  });
  Check(known, "Range of {}", NameOf(context.OutputDType(0)));
}

// Computes a range of bfloat16 in float.
void LowerRange(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const DType dtype = c.OutputDType(0);
  const DType wide = dtype == DType::kBfloat16 ? DType::kFloat : dtype;
  const HloValue steps =
      hlo.Binary("multiply", hlo.Iota(wide, c.OutputShape(0), 0), hlo.Convert(c.Input(2), wide));
  const HloValue values = hlo.Binary("add", hlo.Convert(c.Input(0), wide), steps);
  c.Output(0, hlo.Convert(values, dtype));
}

const OpDef kSourceOps[] = {
    {.name = "Const",
     .signature = "-> output: dtype; value: tensor; dtype: type",
     .shape = ConstShape,
     .grad = NoGradient,
     .cpu = PlanConst,
     .hlo = LowerConst,
     .source = ValueSource::kConstant},
    {.name = "Placeholder",
     .signature = "-> output: dtype; dtype: type|resource; shape: shape = unknown",
     .shape = PlaceholderShape,
     .grad = NoGradient,
     .cpu = PlanPlaceholder,
     .source = ValueSource::kFeed},
    {.name = "Fill",
     .signature = "dims: index_type, value: T -> output: T; T: type; "
                  "index_type: int32|int64 = int32",
     .shape = FillShape,
     .grad = FillGrad,
     .cpu = PlanFill,
     .hlo = LowerFill,
     .rows = FillRows},
    {.name = "ZerosLike",
     .signature = "x: T -> y: T; T: type",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanZeros,
     .hlo = LowerZeros,
     .rows = FirstInputRows},
    {.name = "OnesLike",
     .signature = "x: T -> y: T; T: bfloat16|float|double|int8|uint8|int32|int64|bool",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanOnes,
     .hlo = LowerOnes,
     .rows = FirstInputRows},
    {.name = "Range",
     .signature = "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx; "
                  "Tidx: bfloat16|float|double|int32|int64 = int32",
     .shape = RangeShape,
     .grad = NoGradient,
     .cpu = PlanRange,
     .hlo = LowerRange},
};

}  // namespace

OpFamily SourceOps() { return kSourceOps; }

}  // namespace tpuest::ops
