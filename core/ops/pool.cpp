#include "core/ops/pool.h"

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/isa/pool.h"
#include "core/ops/conv_hlo.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

Attrs PoolAttrs(const PoolOptions& options) {
  return {{"ksize", OverNhwc(options.ksize, "ksize")},
          {"strides", OverNhwc(options.strides, "strides")},
          {"padding", options.padding},
          {"data_format", options.data_format}};
}

Attrs WindowAttrs(const Node& node) {
  Attrs attrs;
  for (const char* const name :
       {"ksize", "strides", "padding", "explicit_paddings", "data_format"}) {
    if (node.HasAttr(name)) attrs[name] = node.attrs().at(name);
  }
  return attrs;
}

void MaxPoolGradient(GradContext& c) {
  c.SetDx(0,
          c.graph().Add("MaxPoolGrad", {c.input(0), c.output(0), c.Dy()}, WindowAttrs(c.node())));
}

void AvgPoolGradient(GradContext& c) {
  c.SetDx(0, c.graph().Add("AvgPoolGrad", {SizesOf(c.input(0)), c.Dy()}, WindowAttrs(c.node())));
}

void AvgPoolGradGradient(GradContext& c) {
  c.SetDx(1, c.graph().Add("AvgPool", {c.Dy()}, WindowAttrs(c.node())));
}

const std::vector<int64_t>& WindowOf(const Node& node) {
  return node.Attr<std::vector<int64_t>>("ksize");
}

Shape PoolResultShape(const ShapeContext& c, const Shape& x) {
  CheckWindows(c);
  NeedRank(c, x, 4, "the image [N, H, W, C]");
  if (!x.known_rank()) return Shape({kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim});
  const auto& ksize = WindowOf(c.node());
  const Windows windows = CheckedWindows(c, x, ksize[1], ksize[2]);
  return {x.dim(0), windows.height.out, windows.width.out, x.dim(3)};
}

void PoolShapes(ShapeContext& c) { c.Output(0, PoolResultShape(c, c.Input(0))); }

void CheckResult(const ShapeContext& c, const Shape& expected, const Shape& found) {
  if (!Compatible(expected, found)) {
    c.Fail(fmt::format("the result for the image is {}, found {}", expected.Text(), found.Text()));
  }
}

void MaxPoolGradShapes(ShapeContext& c) {
  const Shape result = PoolResultShape(c, c.Input(0));
  CheckResult(c, result, c.Input(1));
  CheckResult(c, result, c.Input(2));
  c.Output(0, c.Input(0));
}

void AvgPoolGradShapes(ShapeContext& c) {
  const Shape x = SizesFromInput(c, 0);
  CheckResult(c, PoolResultShape(c, x), c.Input(1));
  c.Output(0, x);
}

Rows MaxPoolGradRows(RowContext& c) { return AllCut(c, 0, 2); }
Rows AvgPoolGradRows(RowContext& c) { return c.IsCut(1) ? Rows::kEach : Rows::kWhole; }

PoolShape PoolShapeOf(const Node& node, const Shape& image) {
  const auto& ksize = WindowOf(node);
  const Windows windows = WindowsOf(node, image.dim(1), image.dim(2), ksize[1], ksize[2]);
  return {image.dim(0), windows.height, windows.width, image.dim(3)};
}

void PlanForward(PlanContext& context, void (*pool)(const PoolShape&, const void*, void*)) {
  const PoolShape shape = PoolShapeOf(context.node(), context.InputShape(0));
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  context.Run([=](const Task& task) { pool(shape, task.At(x), task.At(y)); });
}

void PlanMaxPool(PlanContext& context) {
  const PoolKernels pool = FindPool(context.OutputDType(0));
  const bool relu =
      context.node().HasAttr("activation") && context.Attr<std::string>("activation") == "Relu";
  PlanForward(context, relu ? pool.max_relu : pool.max);
}

void PlanAvgPool(PlanContext& context) {
  PlanForward(context, FindPool(context.OutputDType(0)).average);
}

void PlanMaxPoolGrad(PlanContext& context) {
  const PoolShape shape = PoolShapeOf(context.node(), context.OutputShape(0));
  const auto grad = FindPool(context.OutputDType(0)).max_grad;
  const Buffer x = context.Input(0);
  const Buffer y = context.Input(1);
  const Buffer dy = context.Input(2);
  const Buffer dx = context.Output(0);
  context.Run(
      [=](const Task& task) { grad(shape, task.At(x), task.At(y), task.At(dy), task.At(dx)); });
}

void PlanAvgPoolGrad(PlanContext& context) {
  const PoolShape shape = PoolShapeOf(context.node(), context.OutputShape(0));
  const auto grad = FindPool(context.OutputDType(0)).average_grad;
  const Buffer dy = context.Input(1);
  const Buffer dx = context.Output(0);
  context.Run([=](const Task& task) { grad(shape, task.At(dy), task.At(dx)); });
}

const OpDef kPoolOps[] = {
    {.name = "MaxPool",
     .signature = "input: T -> output: T; T: bfloat16|float|double; ksize: list(int) >= 4 <= 4; "
                  "strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                  "explicit_paddings: list(int) <= 8 = []; "
                  "data_format: {'NHWC', 'NCHW'} = NHWC",
     .shape = PoolShapes,
     .grad = MaxPoolGradient,
     .cpu = PlanMaxPool,
     .hlo = LowerMaxPool,
     .rows = FirstInputRows,
     .flops = OutputFlops},
    {.name = "MaxPoolGrad",
     .signature = "orig_input: T, orig_output: T, grad: T -> output: T; T: bfloat16|float|double; "
                  "ksize: list(int) >= 4 <= 4; strides: list(int) >= 4 <= 4; padding: {'SAME', "
                  "'VALID', 'EXPLICIT'}; "
                  "explicit_paddings: list(int) <= 8 = []; data_format: {'NHWC', 'NCHW'} = NHWC",
     .shape = MaxPoolGradShapes,
     .grad = NoSecondGradient,
     .cpu = PlanMaxPoolGrad,
     .hlo = LowerMaxPoolGrad,
     .rows = MaxPoolGradRows,
     .flops = OutputFlops},
    // The fused op in a bound graph: max-pooling, then the activation.
    {.name = "_FusedMaxPool",
     .signature = "input: T -> output: T; T: bfloat16|float|double; ksize: list(int) >= 4 <= 4; "
                  "strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                  "explicit_paddings: list(int) <= 8 = []; "
                  "data_format: {'NHWC', 'NCHW'} = NHWC; activation: string = \"\"",
     .shape = PoolShapes,
     .grad = NoSecondGradient,
     .cpu = PlanMaxPool,
     .rows = FirstInputRows,
     .flops = OutputFlops},
    {.name = "AvgPool",
     .signature = "value: T -> output: T; T: bfloat16|float|double; ksize: list(int) >= 4 <= 4; "
                  "strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', "
                  "'NCHW'} = NHWC",
     .shape = PoolShapes,
     .grad = AvgPoolGradient,
     .cpu = PlanAvgPool,
     .hlo = LowerAvgPool,
     .rows = FirstInputRows,
     .flops = OutputFlops},
    {.name = "AvgPoolGrad",
     .signature =
         "orig_input_shape: int32, grad: T -> output: T; T: bfloat16|float|double; "
         "ksize: list(int) >= 4 <= 4; strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID'}; "
         "data_format: {'NHWC', 'NCHW'} = NHWC",
     .shape = AvgPoolGradShapes,
     .grad = AvgPoolGradGradient,
     .cpu = PlanAvgPoolGrad,
     .hlo = LowerAvgPoolGrad,
     .rows = AvgPoolGradRows,
     .flops = OutputFlops},
};

}  // namespace

Value MaxPool(Value x, const PoolOptions& options, std::string_view name) {
  return x.graph().Add("MaxPool", {x}, PoolAttrs(options), name);
}

Value MaxPoolGrad(Value x, Value y, Value dy, const PoolOptions& options, std::string_view name) {
  return x.graph().Add("MaxPoolGrad", {x, y, dy}, PoolAttrs(options), name);
}

Value AvgPool(Value x, const PoolOptions& options, std::string_view name) {
  return x.graph().Add("AvgPool", {x}, PoolAttrs(options), name);
}

OpFamily PoolOps() { return kPoolOps; }

}  // namespace tpuest::ops
