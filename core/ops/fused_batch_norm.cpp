#include "core/ops/fused_batch_norm.h"

#include <algorithm>

#include "core/kernels/isa/fused_batch_norm.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

int64_t ChannelsOf(const Shape& image) { return image.dim(-1); }

// Gives all outputs the shape [C] of the last axis of input `image`.
template <int kImage>
void ChannelShapes(ShapeContext& c) {
  const Shape& x = c.Input(kImage);
  for (int i = 0; i < c.node().outputs(); ++i) {
    c.Output(i, {x.known_rank() ? x.dim(-1) : kUnknownDim});
  }
}

void SameShapes(ShapeContext& c) {
  for (int i = 0; i < c.node().outputs(); ++i) c.Output(i, c.Input(0));
}

Rows MomentsRows(RowContext& /*context*/) { return Rows::kSum; }

Rows ImagesRows(RowContext& c) { return AllCut(c, 0, 1); }

Rows SumsRows(RowContext& c) { return AllCut(c, 0, 1) == Rows::kEach ? Rows::kSum : Rows::kWhole; }

Rows SideRows(RowContext& c) {
  if (c.IsCut(0) && !c.IsCut(5)) c.Cut(5);
  return c.IsCut(0) ? Rows::kEach : Rows::kWhole;
}

NormActivation ActivationOf(const Node& node) {
  const auto& name = node.Attr<std::string>("activation");
  if (name == "Relu") return NormActivation::kRelu;
  return name == "Relu6" ? NormActivation::kRelu6 : NormActivation::kNone;
}

// The buffers of NormInputs: inputs `image` to image + 4 of the node.
struct NormBuffers {
  Buffer x, scale, offset, mean, variance;
  NormInputs sizes;

  NormBuffers(PlanContext& context, int image)
      : x(context.Input(image)),
        scale(context.Input(image + 1)),
        offset(context.Input(image + 2)),
        mean(context.Input(image + 3)),
        variance(context.Input(image + 4)) {
    const Shape& shape = context.InputShape(image);
    sizes.epsilon = static_cast<double>(context.Attr<float>("epsilon"));
    sizes.channels = ChannelsOf(shape);
    sizes.rows = shape.elements() / sizes.channels;
  }
  [[nodiscard]] NormInputs At(const Task& task) const {
    NormInputs in = sizes;
    in.x = task.At(x);
    in.scale = task.At(scale);
    in.offset = task.At(offset);
    in.mean = task.At(mean);
    in.variance = task.At(variance);
    return in;
  }
};

FusedBatchNormKernels KernelsOf(const PlanContext& context) {
  return FindFusedBatchNorm(context.InputDType(0), ActivationOf(context.node()));
}

void PlanMoments(PlanContext& context) {
  const auto moments = FindFusedBatchNorm(context.InputDType(0), NormActivation::kNone).moments;
  const int64_t channels = ChannelsOf(context.InputShape(0));
  const int64_t rows = LinesOf(context.InputShape(0));
  const Buffer x = context.Input(0);
  const Buffer sum = context.Output(0);
  const Buffer square_sum = context.Output(1);
  context.Run([=](const Task& task) {
    moments(task.At(x), task.At<double>(sum), task.At<double>(square_sum), rows, channels);
  });
}

// Clamps the sum of squared deviations at 0, because rounding may make it negative; NaN stays NaN.
void PlanStatistics(PlanContext& context) {
  const auto count = static_cast<double>(context.Attr<int64_t>("count"));
  const int64_t channels = context.InputShape(0).elements();
  const Buffer sum = context.Input(0);
  const Buffer square_sum = context.Input(1);
  const Buffer mean = context.Output(0);
  const Buffer squares = context.Output(1);
  context.Run([=](const Task& task) {
    const auto* const sums = task.At<const double>(sum);
    const auto* const square_sums = task.At<const double>(square_sum);
    for (int64_t c = 0; c < channels; ++c) {
      const double average = sums[c] / count;
      const double deviations = square_sums[c] - sums[c] * average;
      task.At<float>(mean)[c] = static_cast<float>(average);
      task.At<float>(squares)[c] = deviations < 0 ? 0.0F : static_cast<float>(deviations);
    }
  });
}

void PlanFusedApply(PlanContext& context) {
  const auto apply = KernelsOf(context).apply;
  const bool has_side = context.inputs() == 6;
  context.AllowInPlace(0, 0);
  if (has_side) context.AllowInPlace(0, 5);
  const NormBuffers in(context, 0);
  const Buffer side = has_side ? context.Input(5) : Buffer{};
  const Buffer y = context.Output(0);
  context.Run([=](const Task& task) {
    apply(in.At(task), has_side ? task.At(side) : nullptr, task.At(y));
  });
}

void PlanFusedGradSums(PlanContext& context) {
  const auto sums = KernelsOf(context).grad_sums;
  const Buffer dy = context.Input(0);
  const NormBuffers in(context, 1);
  const Buffer dy_sum = context.Output(0);
  const Buffer dot = context.Output(1);
  context.Run(
      [=](const Task& task) { sums(in.At(task), task.At(dy), task.At(dy_sum), task.At(dot)); });
}

void PlanFusedGradApply(PlanContext& context) {
  const auto apply = KernelsOf(context).grad_apply;
  const int64_t count = context.Attr<int64_t>("count");
  context.AllowInPlace(0, 0);
  const Buffer dy = context.Input(0);
  const NormBuffers in(context, 1);
  const Buffer dy_sum = context.Input(6);
  const Buffer dot = context.Input(7);
  const Buffer dx = context.Output(0);
  context.Run([=](const Task& task) {
    apply(in.At(task), task.At(dy), task.At(dy_sum), task.At(dot), count, task.At(dx));
  });
}

const OpDef kFusedBatchNormOps[] = {
    {.name = "_BatchNormMoments",
     .signature = "x: T -> sum: double, square_sum: double; T: bfloat16|float",
     .shape = ChannelShapes<0>,
     .grad = NoSecondGradient,
     .cpu = PlanMoments,
     .rows = MomentsRows},
    {.name = "_BatchNormStatistics",
     .signature = "sum: double, square_sum: double -> mean: float, squares: float; count: int >= 0",
     .shape = SameShapes,
     .grad = NoSecondGradient,
     .cpu = PlanStatistics},
    {.name = "_FusedBatchNormApply",
     .signature = "x: T, scale: float, offset: float, mean: float, variance: float -> y: T; "
                  "T: bfloat16|float; epsilon: float; activation: string",
     .shape = FirstInputShape,
     .grad = NoSecondGradient,
     .cpu = PlanFusedApply,
     .rows = FirstInputRows},
    {.name = "_FusedBatchNormAdd",
     .signature = "x: T, scale: float, offset: float, mean: float, variance: float, side: T -> "
                  "y: T; T: bfloat16|float; epsilon: float; activation: string",
     .shape = FirstInputShape,
     .grad = NoSecondGradient,
     .cpu = PlanFusedApply,
     .rows = SideRows},
    {.name = "_FusedBatchNormGradSums",
     .signature = "dy: T, x: T, scale: float, offset: float, mean: float, variance: float -> "
                  "dy_sum: float, dot: float; T: bfloat16|float; epsilon: float; "
                  "activation: string",
     .shape = ChannelShapes<1>,
     .grad = NoSecondGradient,
     .cpu = PlanFusedGradSums,
     .rows = SumsRows},
    {.name = "_FusedBatchNormGradApply",
     .signature = "dy: T, x: T, scale: float, offset: float, mean: float, variance: float, "
                  "dy_sum: float, dot: float -> dx: T; T: bfloat16|float; epsilon: float; "
                  "activation: string; count: int >= 0",
     .shape = FirstInputShape,
     .grad = NoSecondGradient,
     .cpu = PlanFusedGradApply,
     .rows = ImagesRows},
};

}  // namespace

OpFamily FusedBatchNormOps() { return kFusedBatchNormOps; }

}  // namespace tpuest::ops
