#include "core/ops/batch_norm_parts.h"

#include "core/graph/gradient.h"
#include "core/kernels/isa/batch_norm.h"
#include "core/ops/hlo_math.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

// Gives all outputs the shape [C], where C is the input's last axis.
void ChannelShape(ShapeContext& c) {
  const Shape& x = c.Input(0);
  for (int i = 0; i < c.node().outputs(); ++i) {
    c.Output(i, {x.known_rank() ? x.dim(-1) : kUnknownDim});
  }
}

Rows SumRows(RowContext& /*context*/) { return Rows::kSum; }

// dy and x are split into the same blocks.
Rows GradSumsRows(RowContext& c) {
  return AllCut(c, 0, 1) == Rows::kEach ? Rows::kSum : Rows::kWhole;
}

Rows GradApplyRows(RowContext& c) { return AllCut(c, 0, 1); }

// The image as a matrix [rows, channels].
struct Matrix {
  int64_t rows;
  int64_t channels;
};

Matrix MatrixOf(const Shape& shape) { return {LinesOf(shape), shape.dim(-1)}; }

double ExactEpsilonOf(const Node& node) { return static_cast<double>(node.Attr<float>("epsilon")); }

void PlanSum(PlanContext& context) {
  const auto sum = FindBatchNorm(context.InputDType(0)).sum;
  const auto [rows, channels] = MatrixOf(context.InputShape(0));
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  context.Run([=, rows = rows, channels = channels](const Task& task) {
    sum(task.At(x), task.At(y), rows, channels);
  });
}

void PlanCenteredSquareSum(PlanContext& context) {
  const auto sum = FindBatchNorm(context.InputDType(0)).centered_square_sum;
  const auto [rows, channels] = MatrixOf(context.InputShape(0));
  const Buffer x = context.Input(0);
  const Buffer mean = context.Input(1);
  const Buffer y = context.Output(0);
  context.Run([=, rows = rows, channels = channels](const Task& task) {
    sum(task.At(x), task.At(mean), task.At(y), rows, channels);
  });
}

void PlanApply(PlanContext& context) {
  const auto apply = FindBatchNorm(context.InputDType(0)).apply;
  const auto [rows, channels] = MatrixOf(context.InputShape(0));
  const double epsilon = ExactEpsilonOf(context.node());
  context.AllowInPlace(0, 0);
  const Buffer x = context.Input(0);
  const Buffer scale = context.Input(1);
  const Buffer offset = context.Input(2);
  const Buffer mean = context.Input(3);
  const Buffer variance = context.Input(4);
  const Buffer y = context.Output(0);
  context.Run([=, rows = rows, channels = channels](const Task& task) {
    apply(task.At(x), task.At(scale), task.At(offset), task.At(mean), task.At(variance), epsilon,
          task.At(y), rows, channels);
  });
}

void PlanGradSums(PlanContext& context) {
  const auto sums = FindBatchNorm(context.InputDType(0)).grad_sums;
  const auto [rows, channels] = MatrixOf(context.InputShape(0));
  const double epsilon = ExactEpsilonOf(context.node());
  const Buffer dy = context.Input(0);
  const Buffer x = context.Input(1);
  const Buffer mean = context.Input(2);
  const Buffer variance = context.Input(3);
  const Buffer dy_sum = context.Output(0);
  const Buffer dot = context.Output(1);
  context.Run([=, rows = rows, channels = channels](const Task& task) {
    sums(task.At(dy), task.At(x), task.At(mean), task.At(variance), epsilon, task.At(dy_sum),
         task.At(dot), rows, channels);
  });
}

void PlanGradApply(PlanContext& context) {
  const auto apply = FindBatchNorm(context.InputDType(0)).grad_apply;
  const auto [rows, channels] = MatrixOf(context.InputShape(0));
  const double epsilon = ExactEpsilonOf(context.node());
  const int64_t count = context.Attr<int64_t>("count");
  context.AllowInPlace(0, 0);
  Buffer in[7];
  for (int i = 0; i < 7; ++i) in[i] = context.Input(i);
  const Buffer dx = context.Output(0);
  context.Run([=, rows = rows, channels = channels](const Task& task) {
    apply(task.At(in[0]), task.At(in[1]), task.At(in[2]), task.At(in[3]), task.At(in[4]),
          task.At(in[5]), task.At(in[6]), epsilon, count, task.At(dx), rows, channels);
  });
}

// ---- StableHLO ----------------------------------------------------------------------------------

// Input i, converted to the statistics' dtype.
HloTerm StatisticsInput(LowerContext& c, int i, DType dtype) {
  return HloTerm(c.hlo(), c.Input(i)).As(dtype);
}

// Sums over all axes but the last.
HloValue ChannelSum(const HloTerm& x) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis + 1 < x.shape().rank(); ++axis) axes.push_back(axis);
  return x.hlo().Reduce("add", x.value(), axes, 0);
}

// 1 / sqrt(variance + epsilon) for the variance in input i.
HloTerm InverseDeviation(LowerContext& c, int i) {
  return (HloTerm(c.hlo(), c.Input(i)) + ExactEpsilonOf(c.node())).Unary("rsqrt");
}

// Input x minus input mean.
HloTerm Centered(LowerContext& c, int x, int mean) {
  const HloTerm about(c.hlo(), c.Input(mean));
  return StatisticsInput(c, x, about.dtype()) - about;
}

void LowerChannelSum(LowerContext& c) {
  c.Output(0, ChannelSum(StatisticsInput(c, 0, c.OutputDType(0))));
}

void LowerCenteredSquareSum(LowerContext& c) {
  c.Output(0, ChannelSum(SquareOf(Centered(c, 0, 1))));
}

void LowerApply(LowerContext& c) {
  const HloTerm scale = HloTerm(c.hlo(), c.Input(1)) * InverseDeviation(c, 4);
  const HloTerm y = Centered(c, 0, 3) * scale + HloTerm(c.hlo(), c.Input(2));
  c.Output(0, y.As(c.OutputDType(0)).value());
}

void LowerGradSums(LowerContext& c) {
  const HloTerm x = Centered(c, 1, 2) * InverseDeviation(c, 3);
  const HloTerm dy = StatisticsInput(c, 0, x.dtype());
  c.Output(0, ChannelSum(dy));
  c.Output(1, ChannelSum(dy * x));
}

// scale / deviation * (dy - dy_sum / n - normalized x * dot / n).
void LowerGradApply(LowerContext& c) {
  const auto count = c.Attr<int64_t>("count");
  const double share = count == 0 ? 0 : 1 / static_cast<double>(count);
  const HloTerm inverse = InverseDeviation(c, 4);
  const HloTerm x = Centered(c, 1, 3) * inverse;
  const HloTerm dy = StatisticsInput(c, 0, x.dtype());
  const HloTerm rest =
      dy - HloTerm(c.hlo(), c.Input(5)) * share - x * (HloTerm(c.hlo(), c.Input(6)) * share);
  const HloTerm dx = rest * (HloTerm(c.hlo(), c.Input(2)) * inverse);
  c.Output(0, dx.As(c.OutputDType(0)).value());
}

const OpDef kBatchNormPartOps[] = {
    {.name = "_BatchNormSum",
     .signature = "x: T -> sum: U; T: bfloat16|float|double; U: float|double",
     .shape = ChannelShape,
     .grad = NoSecondGradient,
     .cpu = PlanSum,
     .hlo = LowerChannelSum,
     .rows = SumRows},
    {.name = "_BatchNormCenteredSquareSum",
     .signature = "x: T, mean: U -> sum: U; T: bfloat16|float|double; U: float|double",
     .shape = ChannelShape,
     .grad = NoSecondGradient,
     .cpu = PlanCenteredSquareSum,
     .hlo = LowerCenteredSquareSum,
     .rows = [](RowContext& c) { return c.IsCut(1) ? Rows::kWhole : Rows::kSum; }},
    {.name = "_BatchNormApply",
     .signature = "x: T, scale: U, offset: U, mean: U, variance: U -> y: T; "
                  "T: bfloat16|float|double; U: float|double; epsilon: float",
     .shape = FirstInputShape,
     .grad = NoSecondGradient,
     .cpu = PlanApply,
     .hlo = LowerApply,
     .rows = FirstInputRows},
    {.name = "_BatchNormGradSums",
     .signature = "dy: T, x: T, mean: U, variance: U -> dy_sum: U, dot: U; "
                  "T: bfloat16|float|double; U: float|double; epsilon: float",
     .shape = ChannelShape,
     .grad = NoSecondGradient,
     .cpu = PlanGradSums,
     .hlo = LowerGradSums,
     .rows = GradSumsRows},
    {.name = "_BatchNormGradApply",
     .signature = "dy: T, x: T, scale: U, mean: U, variance: U, dy_sum: U, dot: U -> dx: T; "
                  "T: bfloat16|float|double; U: float|double; epsilon: float; count: int >= 0",
     .shape = FirstInputShape,
     .grad = NoSecondGradient,
     .cpu = PlanGradApply,
     .hlo = LowerGradApply,
     .rows = GradApplyRows},
};

}  // namespace

Value BatchNormSum(Value x, DType sum_type) {
  return x.graph().Add("_BatchNormSum", {x}, {{"U", sum_type}});
}

Value BatchNormCenteredSquareSum(Value x, Value mean) {
  return x.graph().Add("_BatchNormCenteredSquareSum", {x, mean});
}

Value BatchNormApply(Value x, Value scale, Value offset, Value mean, Value variance,
                     float epsilon) {
  return x.graph().Add("_BatchNormApply", {x, scale, offset, mean, variance},
                       {{"epsilon", epsilon}});
}

BatchNormGradSumsResult BatchNormGradSums(Value dy, Value x, Value mean, Value variance,
                                          float epsilon) {
  Node* const node =
      x.graph().AddNode("_BatchNormGradSums", {dy, x, mean, variance}, {{"epsilon", epsilon}});
  return {node->output(0), node->output(1)};
}

Value BatchNormGradApply(Value dy, Value x, Value scale, Value mean, Value variance,
                         const BatchNormGradSumsResult& sums, float epsilon, int64_t count) {
  return x.graph().Add("_BatchNormGradApply", {dy, x, scale, mean, variance, sums.dy_sum, sums.dot},
                       {{"epsilon", epsilon}, {"count", count}});
}

OpFamily BatchNormPartOps() { return kBatchNormPartOps; }

}  // namespace tpuest::ops
