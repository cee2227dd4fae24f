#include "core/ops/conv.h"

#include <algorithm>

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/ops/conv_hlo.h"
#include "core/ops/conv_plan.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

Attrs ConvAttrs(const ConvOptions& options) {
  Attrs attrs = {{"strides", OverNhwc(options.strides, "strides")},
                 {"padding", options.padding},
                 {"dilations", OverNhwc(options.dilations, "dilations")},
                 {"data_format", options.data_format}};
  if (!options.explicit_paddings.empty()) {
    std::vector<int64_t> paddings = {0, 0};
    paddings.insert(paddings.end(), options.explicit_paddings.begin(),
                    options.explicit_paddings.end());
    paddings.insert(paddings.end(), {0, 0});
    attrs["explicit_paddings"] = paddings;
  }
  return attrs;
}

// The attributes that a convolution passes to its gradients.
Attrs ConvWindowAttrs(const Node& node) {
  Attrs attrs;
  for (const char* const name :
       {"strides", "padding", "explicit_paddings", "dilations", "data_format"}) {
    attrs[name] = node.attrs().at(name);
  }
  return attrs;
}

// The ops of one kind of convolution, and of its gradients.
struct Kind {
  std::string_view forward;
  std::string_view input;
  std::string_view filter;
};

Kind ConvKindOf(const Node& node) {
  if (node.type().starts_with("Depthwise")) {
    return {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
            "DepthwiseConv2dNativeBackpropFilter"};
  }
  return {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
}

Value ForwardOf(const Node& node, Value x, Value filter) {
  return x.graph().Add(ConvKindOf(node).forward, {x, filter}, ConvWindowAttrs(node));
}

Value BackpropInput(const Node& node, Value x, Value filter, Value dy) {
  return x.graph().Add(ConvKindOf(node).input, {SizesOf(x), filter, dy}, ConvWindowAttrs(node));
}

Value BackpropFilter(const Node& node, Value x, Value filter, Value dy) {
  return x.graph().Add(ConvKindOf(node).filter, {x, SizesOf(filter), dy}, ConvWindowAttrs(node));
}

// Counts one multiplication and one addition per element of y and number of its filter. The
// gradients of x and of the filter add up the same products in another order.
int64_t ConvFlops(const Node& node) {
  const auto is = [&](std::string_view kind) { return node.type().find(kind) != kind.npos; };
  const bool by_filter = is("BackpropFilter");
  const Shape& y = is("Backprop") ? node.input(2).shape() : node.output_shape(0);
  const Shape& filter = by_filter ? node.output_shape(0) : node.input(1).shape();
  const int64_t channels = y.rank() == 4 ? std::max<int64_t>(y.dim(-1), 1) : 1;
  return 2 * CountedElements(y) / channels * CountedElements(filter);
}

void ConvGrad(GradContext& c) {
  c.SetDx(0, BackpropInput(c.node(), c.input(0), c.input(1), c.Dy()));
  c.SetDx(1, BackpropFilter(c.node(), c.input(0), c.input(1), c.Dy()));
}

// dx is linear in the filter and in dy: its derivative with respect to the filter is the filter
// gradient with the incoming ddx as x.
void BackpropInputGrad(GradContext& c) {
  c.SetDx(1, BackpropFilter(c.node(), c.Dy(), c.input(1), c.input(2)));
  c.SetDx(2, ForwardOf(c.node(), c.Dy(), c.input(1)));
}

void BackpropFilterGrad(GradContext& c) {
  c.SetDx(0, BackpropInput(c.node(), c.input(0), c.Dy(), c.input(2)));
  c.SetDx(2, ForwardOf(c.node(), c.input(0), c.Dy()));
}

bool IsDepthwise(const ShapeContext& c) { return c.node().type().starts_with("Depthwise"); }

int64_t FlopsProduct(int64_t a, int64_t b) {
  return a == kUnknownDim || b == kUnknownDim ? kUnknownDim : a * b;
}

// Fails unless both strides are equal, because TensorFlow's depthwise kernels require it.
void CheckDepthwiseStrides(const ShapeContext& c) {
  const auto& strides = c.node().Attr<std::vector<int64_t>>("strides");
  if (IsDepthwise(c) && strides[1] != strides[2]) {
    c.Fail(fmt::format("strides are {}x{}, expected two equal numbers", strides[1], strides[2]));
  }
}

// True for a filter [kh, kw, C / groups, F] if F is a multiple of the number of groups.
bool IsGrouped(const ShapeContext& c, int64_t channels, const Shape& filter) {
  if (IsDepthwise(c) || filter.dim(2) <= 0 || channels % filter.dim(2) != 0) return false;
  const int64_t groups = channels / filter.dim(2);
  return filter.dim(3) == kUnknownDim || filter.dim(3) % std::max<int64_t>(groups, 1) == 0;
}

// The shape [N, H', W', F] of the result of an image and a filter.
Shape ConvResultShape(const ShapeContext& c, const Shape& x, const Shape& filter) {
  CheckWindows(c);
  CheckDepthwiseStrides(c);
  NeedRank(c, x, 4, "the image [N, H, W, C]");
  NeedRank(c, filter, 4, "the filter [kh, kw, C, F]");
  for (const int64_t size : filter.dims()) {
    if (size == 0) c.Fail(fmt::format("the filter {} has no elements", filter.Text()));
  }
  Shape result({kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim});
  if (filter.known_rank()) {
    result.set_dim(3, IsDepthwise(c) ? FlopsProduct(filter.dim(2), filter.dim(3)) : filter.dim(3));
  }
  if (!x.known_rank()) return result;
  result.set_dim(0, x.dim(0));
  if (!filter.known_rank()) return result;
  const bool fits =
      x.dim(3) == kUnknownDim || filter.dim(2) == kUnknownDim || x.dim(3) == filter.dim(2);
  if (!fits && !IsGrouped(c, x.dim(3), filter)) {
    c.Fail(fmt::format("the image has {} channels ({}), but the filter takes {} ({})", x.dim(3),
                       x.Text(), filter.dim(2), filter.Text()));
  }
  const Windows windows = CheckedWindows(c, x, filter.dim(0), filter.dim(1));
  result.set_dim(1, windows.height.out);
  result.set_dim(2, windows.width.out);
  return result;
}

void CheckDy(const ShapeContext& c, const Shape& expected, const Shape& dy) {
  if (!Compatible(expected, dy)) {
    c.Fail(fmt::format("the gradient is {}, but the result is {}", dy.Text(), expected.Text()));
  }
}

Shape AtLeastRank4(const Shape& shape) {
  return shape.known_rank() ? shape : Shape({kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim});
}

void ConvShapes(ShapeContext& c) {
  c.Output(0, ConvResultShape(c, c.Input(0), c.Input(1)));
  if (c.inputs() == 3) NeedRank(c, c.Input(2), 1, "the bias [F]");
}

void BackpropInputShapes(ShapeContext& c) {
  const Shape x = AtLeastRank4(SizesFromInput(c, 0));
  CheckDy(c, ConvResultShape(c, x, c.Input(1)), c.Input(2));
  c.Output(0, x);
}

void BackpropFilterShapes(ShapeContext& c) {
  const Shape filter = AtLeastRank4(SizesFromInput(c, 1));
  const Shape result = ConvResultShape(c, c.Input(0), filter);
  CheckDy(c, result, c.Input(2));
  c.Output(0, filter);
  if (c.node().outputs() == 2) c.Output(1, {result.dim(3)});
}

// The sizes (input 0) are those of the whole batch; a block has as many rows as its dy.
Rows BackpropInputRows(RowContext& c) {
  return c.IsCut(2) && !c.IsCut(1) ? Rows::kEach : Rows::kWhole;
}

Rows BackpropFilterRows(RowContext& c) {
  if (c.IsCut(1)) return Rows::kWhole;
  for (const int i : {0, 2}) {
    if (!c.IsCut(i)) c.Cut(i);
  }
  return Rows::kSum;
}

constexpr std::string_view kConvForward =
    "input: T, filter: T -> output: T; T: bfloat16|float|double; strides: list(int) >= 4 <= 4; "
    "use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: "
    "list(int) <= 8 = []; "
    "data_format: {'NHWC', 'NCHW'} = NHWC; dilations: list(int) >= 4 <= 4 = [1,1,1,1]";
constexpr std::string_view kInput =
    "input_sizes: int32, filter: T, out_backprop: T -> output: T; T: bfloat16|float|double; "
    "strides: list(int) >= 4 <= 4; use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
    "'EXPLICIT'}; "
    "explicit_paddings: list(int) <= 8 = []; data_format: {'NHWC', 'NCHW'} = NHWC; "
    "dilations: list(int) >= 4 <= 4 = [1,1,1,1]";
constexpr std::string_view kFilter =
    "input: T, filter_sizes: int32, out_backprop: T -> output: T; T: bfloat16|float|double; "
    "strides: list(int) >= 4 <= 4; use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
    "'EXPLICIT'}; "
    "explicit_paddings: list(int) <= 8 = []; data_format: {'NHWC', 'NCHW'} = NHWC; "
    "dilations: list(int) >= 4 <= 4 = [1,1,1,1]";
constexpr std::string_view kDepthwiseForward =
    "input: T, filter: T -> output: T; T: bfloat16|float|double; strides: list(int) >= 4 <= 4; "
    "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) <= 8 = []; data_format: "
    "{'NHWC', 'NCHW'} = NHWC; "
    "dilations: list(int) >= 4 <= 4 = [1,1,1,1]";
constexpr std::string_view kDepthwiseInput =
    "input_sizes: int32, filter: T, out_backprop: T -> output: T; T: bfloat16|float|double; "
    "strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: "
    "list(int) <= 8 = []; "
    "data_format: {'NHWC', 'NCHW'} = NHWC; dilations: list(int) >= 4 <= 4 = [1,1,1,1]";
constexpr std::string_view kDepthwiseFilter =
    "input: T, filter_sizes: int32, out_backprop: T -> output: T; T: bfloat16|float|double; "
    "strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: "
    "list(int) <= 8 = []; "
    "data_format: {'NHWC', 'NCHW'} = NHWC; dilations: list(int) >= 4 <= 4 = [1,1,1,1]";
// The signature of the fused op in a bound graph.
constexpr std::string_view kFused =
    "input: T, filter: T, bias: T -> output: T; T: bfloat16|float|double; strides: list(int) >= 4 "
    "<= 4; "
    "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) <= 8 = []; data_format: "
    "{'NHWC', 'NCHW'} = NHWC; "
    "dilations: list(int) >= 4 <= 4 = [1,1,1,1]; activation: string = \"\"";
constexpr std::string_view kFilterBias =
    "input: T, filter_sizes: int32, out_backprop: T -> output: T, bias_backprop: T; "
    "T: bfloat16|float|double; strides: list(int) >= 4 <= 4; padding: {'SAME', 'VALID', "
    "'EXPLICIT'}; "
    "explicit_paddings: list(int) <= 8 = []; data_format: {'NHWC', 'NCHW'} = NHWC; "
    "dilations: list(int) >= 4 <= 4 = [1,1,1,1]";

constexpr OpDef ConvDef(std::string_view name, std::string_view signature, ShapeFn shape,
                        GradFn grad, PlanFn cpu, LowerFn hlo, RowFn rows) {
  return {.name = name,
          .signature = signature,
          .shape = shape,
          .grad = grad,
          .cpu = cpu,
          .hlo = hlo,
          .rows = rows,
          .flops = ConvFlops};
}

const OpDef kConvOps[] = {
    ConvDef("Conv2D", kConvForward, ConvShapes, ConvGrad, PlanConv, LowerConv, FirstInputRows),
    ConvDef("Conv2DBackpropInput", kInput, BackpropInputShapes, BackpropInputGrad,
            PlanConvBackpropInput, LowerConvBackpropInput, BackpropInputRows),
    ConvDef("Conv2DBackpropFilter", kFilter, BackpropFilterShapes, BackpropFilterGrad,
            PlanConvBackpropFilter, LowerConvBackpropFilter, BackpropFilterRows),
    ConvDef("DepthwiseConv2dNative", kDepthwiseForward, ConvShapes, ConvGrad, PlanConv, LowerConv,
            FirstInputRows),
    ConvDef("DepthwiseConv2dNativeBackpropInput", kDepthwiseInput, BackpropInputShapes,
            BackpropInputGrad, PlanConvBackpropInput, LowerConvBackpropInput, BackpropInputRows),
    ConvDef("DepthwiseConv2dNativeBackpropFilter", kDepthwiseFilter, BackpropFilterShapes,
            BackpropFilterGrad, PlanConvBackpropFilter, LowerConvBackpropFilter,
            BackpropFilterRows),
    ConvDef("_FusedConv2D", kFused, ConvShapes, NoSecondGradient, PlanConv, nullptr,
            FirstInputRows),
    ConvDef("_Conv2DBackpropFilterBias", kFilterBias, BackpropFilterShapes, NoSecondGradient,
            PlanConvBackpropFilter, nullptr, BackpropFilterRows),
};

}  // namespace

Value Conv2D(Value x, Value filter, const ConvOptions& options, std::string_view name) {
  return x.graph().Add("Conv2D", {x, filter}, ConvAttrs(options), name);
}

Value Conv2DBackpropInput(Value input_sizes, Value filter, Value dy, const ConvOptions& options,
                          std::string_view name) {
  return dy.graph().Add("Conv2DBackpropInput", {input_sizes, filter, dy}, ConvAttrs(options), name);
}

Value Conv2DBackpropFilter(Value x, Value filter_sizes, Value dy, const ConvOptions& options,
                           std::string_view name) {
  return x.graph().Add("Conv2DBackpropFilter", {x, filter_sizes, dy}, ConvAttrs(options), name);
}

Value DepthwiseConv2dNative(Value x, Value filter, const ConvOptions& options,
                            std::string_view name) {
  return x.graph().Add("DepthwiseConv2dNative", {x, filter}, ConvAttrs(options), name);
}

OpFamily ConvOps() { return kConvOps; }

}  // namespace tpuest::ops
