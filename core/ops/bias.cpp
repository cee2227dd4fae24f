#include "core/ops/bias.h"

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/isa/bias.h"
#include "core/ops/array.h"
#include "core/ops/hlo_math.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

void BiasAddGradient(GradContext& c) {
  c.SetDx(0, c.Dy());
  c.SetDx(1, BiasAddGrad(c.Dy()));
}

// The derivative of a sum over rows is the same for every row.
void BiasAddGradGradient(GradContext& c) { c.SetDx(0, BroadcastTo(c.Dy(), SizesOf(c.input(0)))); }

void CheckFormat(const ShapeContext& c) {
  const auto& format = c.node().Attr<std::string>("data_format");
  if (format != "NHWC") {
    c.Fail(
        fmt::format("data_format is {}, expected NHWC, with the bias along the last axis", format));
  }
  if (c.Input(0).known_rank() && c.Input(0).rank() < 2) {
    c.Fail(fmt::format("takes a batch [N, ..., C], found {}", c.Input(0).Text()));
  }
}

void BiasAddShape(ShapeContext& c) {
  CheckFormat(c);
  const Shape& x = c.Input(0);
  const Shape& bias = c.Input(1);
  NeedRank(c, bias, 1, "the bias [C]");
  if (x.known_rank() && bias.known_rank() && !Compatible({x.dim(-1)}, bias)) {
    c.Fail(fmt::format("the last axis of {} has size {}, but the bias has {}", x.Text(), x.dim(-1),
                       bias.dim(0)));
  }
  c.Output(0, x);
}

void BiasAddGradShape(ShapeContext& c) {
  CheckFormat(c);
  const Shape& dy = c.Input(0);
  c.Output(0, {dy.known_rank() ? dy.dim(-1) : kUnknownDim});
}

Rows BiasAddGradRows(RowContext& /*context*/) { return Rows::kSum; }

void PlanBiasAdd(PlanContext& context) {
  const BiasKernel add = FindBias(context.OutputDType(0));
  const int64_t channels = context.OutputShape(0).dim(-1);
  const int64_t rows = LinesOf(context.OutputShape(0));
  context.AllowInPlace(0, 0);
  const Buffer x = context.Input(0);
  const Buffer bias = context.Input(1);
  const Buffer y = context.Output(0);
  context.Run(
      [=](const Task& task) { add(task.At(x), task.At(bias), task.At(y), rows, channels); });
}

void PlanBiasAddGrad(PlanContext& context) {
  const BiasGradKernel grad = FindBiasGrad(context.InputDType(0), context.OutputDType(0));
  const int64_t channels = context.InputShape(0).dim(-1);
  const int64_t rows = LinesOf(context.InputShape(0));
  const Buffer dy = context.Input(0);
  const Buffer dbias = context.Output(0);
  context.Run([=](const Task& task) { grad(task.At(dy), task.At(dbias), rows, channels); });
}

HloTerm SumOf(const HloTerm& x, const HloTerm& bias) { return x + bias; }

// bfloat16 is summed in float and rounded once.
void LowerBiasAddGrad(LowerContext& c) {
  const HloTerm dy = WideInput(c, 0);
  std::vector<int64_t> rows;
  for (int axis = 0; axis + 1 < dy.shape().rank(); ++axis) rows.push_back(axis);
  const HloTerm sum(c.hlo(), c.hlo().Reduce("add", dy.value(), rows, 0));
  c.Output(0, sum.As(c.OutputDType(0)).value());
}

const OpDef kBiasOps[] = {
    {.name = "BiasAdd",
     .signature = "value: T, bias: T -> output: T; T: bfloat16|float|double; "
                  "data_format: {'NHWC', 'NCHW'} = NHWC",
     .shape = BiasAddShape,
     .grad = BiasAddGradient,
     .cpu = PlanBiasAdd,
     .hlo = LowerTwo<SumOf>,
     .rows = FirstInputRows,
     .flops = OutputFlops},
    {.name = "BiasAddGrad",
     .signature = "out_backprop: T -> output: T; T: bfloat16|float|double; "
                  "data_format: {'NHWC', 'NCHW'} = NHWC",
     .shape = BiasAddGradShape,
     .grad = BiasAddGradGradient,
     .cpu = PlanBiasAddGrad,
     .hlo = LowerBiasAddGrad,
     .rows = BiasAddGradRows,
     .flops = InputFlops},
};

}  // namespace

Value BiasAdd(Value x, Value bias, std::string_view name) {
  return x.graph().Add("BiasAdd", {x, bias}, {}, name);
}

Value BiasAddGrad(Value dy, std::string_view name) {
  return dy.graph().Add("BiasAddGrad", {dy}, {}, name);
}

OpFamily BiasOps() { return kBiasOps; }

}  // namespace tpuest::ops
