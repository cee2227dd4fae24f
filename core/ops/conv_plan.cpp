#include "core/ops/conv_plan.h"

#include <algorithm>
#include <memory>

#include "core/kernels/conv.h"
#include "core/kernels/conv_plain.h"
#include "core/kernels/gemm.h"
#include "core/kernels/isa/bias.h"
#include "core/kernels/isa/cast.h"
#include "core/kernels/isa/depthwise.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

// The sizes of a convolution: image [N, H, W, C], result [N, H', W', F].
ConvShape ConvShapeOf(const Node& node, const Shape& image, const Shape& filter,
                      const Shape& result) {
  const Windows windows = WindowsOf(node, image.dim(1), image.dim(2), filter.dim(0), filter.dim(1));
  const bool depthwise = node.type().starts_with("Depthwise");
  return {.batch = image.dim(0),
          .height = windows.height,
          .width = windows.width,
          .channels = image.dim(3),
          .filters = result.dim(3),
          .depthwise = depthwise,
          .groups = depthwise || filter.dim(2) == 0 ? 1 : image.dim(3) / filter.dim(2)};
}

// Packs the filter (input 1) for the convolution once a step for all blocks.
template <class Conv>
Buffer PackedFilter(PlanContext& context, const std::shared_ptr<Conv>& conv) {
  const std::string key = fmt::format("{} {}", conv->packed_layout(), conv->packed_bytes());
  return context.Derived(1, key, conv->packed_bytes(), [&](Buffer in, Buffer out) -> Kernel {
    return
        [conv, in, out](const Task& task) { conv->Pack(task.thread, task.At(in), task.At(out)); };
  });
}

void PlanPlainConv(PlanContext& context, const ConvShape& shape, bool bias, bool relu) {
  const Buffer x = context.Input(0);
  const Buffer filter = context.Input(1);
  const Buffer b = bias ? context.Input(2) : Buffer{};
  const Buffer y = context.Output(0);
  context.Run([=](const Task& task) {
    PlainConvForward(shape, task.At<double>(x), task.At<double>(filter),
                     bias ? task.At<double>(b) : nullptr, relu, task.At<double>(y));
  });
}

// ---- Depthwise: one filter per channel

// Converts the filter (input 1) to float, which our own kernels read.
Buffer FloatFilter(PlanContext& context) {
  if (context.InputDType(1) == DType::kFloat) return context.Input(1);
  const auto n = static_cast<size_t>(context.InputShape(1).elements());
  const CastKernel cast = FindCast(context.InputDType(1), DType::kFloat);
  return context.Derived(1, "float", n * sizeof(float), [&](Buffer in, Buffer out) -> Kernel {
    return [=](const Task& task) { cast(task.At(in), task.At(out), n); };
  });
}

void PlanDepthwise(PlanContext& context, const ConvShape& shape) {
  const auto forward = FindDepthwise(context.OutputDType(0)).forward;
  const Buffer filter = FloatFilter(context);
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  context.Run(
      [=](const Task& task) { forward(shape, task.At(x), task.At<float>(filter), task.At(y)); });
}

void PlanDepthwiseInput(PlanContext& context, const ConvShape& shape) {
  const auto backward = FindDepthwise(context.OutputDType(0)).backward_data;
  const Buffer filter = FloatFilter(context);
  const Buffer dy = context.Input(2);
  const Buffer dx = context.Output(0);
  context.Run(
      [=](const Task& task) { backward(shape, task.At(dy), task.At<float>(filter), task.At(dx)); });
}

void PlanDepthwiseFilter(PlanContext& context, const ConvShape& shape) {
  const auto backward = FindDepthwise(context.InputDType(0)).backward_filter;
  const Buffer x = context.Input(0);
  const Buffer dy = context.Input(2);
  const Buffer dfilter = context.Output(0);
  const Buffer totals =
      context.Scratch(static_cast<size_t>(context.OutputShape(0).elements()) * sizeof(double));
  context.Run([=](const Task& task) {
    backward(shape, task.At(x), task.At(dy), task.At<float>(dfilter), task.At<double>(totals));
  });
}

// ---- One pixel: a product of matrices [pixels, channels]

bool IsOnePixel(const WindowAxis& axis) {
  return axis.size == 1 && axis.stride == 1 && axis.before == 0 && axis.after == 0;
}

// True if the gradients are faster as matrix products, which they are not for few channels.
bool IsProduct(const ConvShape& shape) {
  constexpr int64_t kFewChannels = 64;
  return !shape.depthwise && shape.groups == 1 && IsOnePixel(shape.height) &&
         IsOnePixel(shape.width) && std::min(shape.channels, shape.filters) >= kFewChannels;
}

int64_t PixelsOf(const ConvShape& shape) {
  return shape.batch * shape.height.out * shape.width.out;
}

// dx = dy filter'.
void PlanProductInput(PlanContext& context, const ConvShape& shape) {
  const DType dtype = context.OutputDType(0);
  const auto gemm = std::make_shared<Gemm>(GemmShape{.rows = PixelsOf(shape),
                                                     .inner = shape.filters,
                                                     .columns = shape.channels,
                                                     .transpose_b = true},
                                           dtype, dtype, false, false, context.threads());
  const Buffer filter = context.Input(1);
  const Buffer dy = context.Input(2);
  const Buffer dx = context.Output(0);
  const Buffer scratch = context.Scratch(gemm->scratch_bytes());
  context.Run([=](const Task& task) {
    gemm->Run(task.thread, task.At(dy), task.At(filter), nullptr, task.At(dx), task.At(scratch));
  });
}

// dfilter = x' dy, and the sum of dy if it is needed.
void PlanProductFilter(PlanContext& context, const ConvShape& shape, bool bias) {
  const DType dtype = context.InputDType(0);
  const DType result = context.OutputDType(0);
  const int64_t pixels = PixelsOf(shape);
  const auto gemm = std::make_shared<Gemm>(
      GemmShape{
          .rows = shape.channels, .inner = pixels, .columns = shape.filters, .transpose_a = true},
      dtype, result, false, false, context.threads());
  const BiasGradKernel sum = bias ? FindBiasGrad(dtype, result) : nullptr;
  const Buffer x = context.Input(0);
  const Buffer dy = context.Input(2);
  const Buffer dfilter = context.Output(0);
  const Buffer dbias = bias ? context.Output(1) : Buffer{};
  const Buffer scratch = context.Scratch(gemm->scratch_bytes());
  context.Run([=](const Task& task) {
    gemm->Run(task.thread, task.At(x), task.At(dy), nullptr, task.At(dfilter), task.At(scratch));
    if (bias) sum(task.At(dy), task.At(dbias), pixels, shape.filters);
  });
}

}  // namespace

void PlanConv(PlanContext& context) {
  const ConvShape shape = ConvShapeOf(context.node(), context.InputShape(0), context.InputShape(1),
                                      context.OutputShape(0));
  const bool bias = context.inputs() == 3;
  const bool relu =
      context.node().HasAttr("activation") && context.Attr<std::string>("activation") == "Relu";
  const DType dtype = context.OutputDType(0);
  if (dtype == DType::kDouble) return PlanPlainConv(context, shape, bias, relu);
  if (HasDepthwiseKernel(shape) && !bias && !relu) return PlanDepthwise(context, shape);
  const auto conv = std::make_shared<ConvForward>(shape, dtype, bias, relu, context.threads());
  const Buffer packed = PackedFilter(context, conv);
  const Buffer x = context.Input(0);
  const Buffer b = bias ? context.Input(2) : Buffer{};
  const Buffer y = context.Output(0);
  const Buffer scratch = context.Scratch(conv->scratch_bytes());
  context.Run([=](const Task& task) {
    conv->Run(task.thread, task.At(x), task.At(packed), bias ? task.At(b) : nullptr, task.At(y),
              task.At(scratch));
  });
}

void PlanConvBackpropInput(PlanContext& context) {
  const ConvShape shape = ConvShapeOf(context.node(), context.OutputShape(0), context.InputShape(1),
                                      context.InputShape(2));
  const Buffer dy = context.Input(2);
  const Buffer dx = context.Output(0);
  const DType dtype = context.OutputDType(0);
  if (dtype == DType::kDouble) {
    const Buffer filter = context.Input(1);
    return context.Run([=](const Task& task) {
      PlainConvBackwardData(shape, task.At<double>(dy), task.At<double>(filter),
                            task.At<double>(dx));
    });
  }
  if (HasDepthwiseKernel(shape)) return PlanDepthwiseInput(context, shape);
  if (IsProduct(shape)) return PlanProductInput(context, shape);
  const auto conv = std::make_shared<ConvBackwardData>(shape, dtype, context.threads());
  const Buffer packed = PackedFilter(context, conv);
  const Buffer scratch = context.Scratch(conv->scratch_bytes());
  context.Run([=](const Task& task) {
    conv->Run(task.thread, task.At(dy), task.At(packed), task.At(dx), task.At(scratch));
  });
}

void PlanConvBackpropFilter(PlanContext& context) {
  const ConvShape shape = ConvShapeOf(context.node(), context.InputShape(0), context.OutputShape(0),
                                      context.InputShape(2));
  const bool bias = context.node().outputs() == 2;
  const Buffer x = context.Input(0);
  const Buffer dy = context.Input(2);
  const Buffer dfilter = context.Output(0);
  const Buffer dbias = bias ? context.Output(1) : Buffer{};
  const DType dtype = context.InputDType(0);
  if (dtype == DType::kDouble) {
    const BiasGradKernel sum = FindBiasGrad(dtype, dtype);
    const int64_t rows = shape.batch * shape.height.out * shape.width.out;
    return context.Run([=](const Task& task) {
      PlainConvBackwardFilter(shape, task.At<double>(x), task.At<double>(dy),
                              task.At<double>(dfilter));
      if (bias) sum(task.At(dy), task.At(dbias), rows, shape.filters);
    });
  }
  const bool is_depthwise = HasDepthwiseKernel(shape) && context.OutputDType(0) == DType::kFloat;
  if (is_depthwise) return PlanDepthwiseFilter(context, shape);
  if (IsProduct(shape)) return PlanProductFilter(context, shape, bias);
  const auto conv = std::make_shared<ConvBackwardFilter>(shape, dtype, context.OutputDType(0), bias,
                                                         context.threads());
  const Buffer scratch = context.Scratch(conv->scratch_bytes());
  context.Run([=](const Task& task) {
    conv->Run(task.thread, task.At(x), task.At(dy), task.At(dfilter),
              bias ? task.At(dbias) : nullptr, task.At(scratch));
  });
}

}  // namespace tpuest::ops
