#include "core/nn/layers/conv_layers.h"

#include <algorithm>

#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/conv.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

// The strides, padding and dilation of a layer as the op takes them.
template <class Layer>
ops::ConvOptions ConvWindowOf(const Layer& layer) {
  return {.strides = HeightAndWidth(layer.strides, "strides"),
          .padding = PaddingName(layer.padding),
          .dilations = HeightAndWidth(layer.dilation_rate, "dilation_rate")};
}

// The same of a layer over steps, which are the width of an image of height 1.
template <class Layer>
ops::ConvOptions StepWindowOf(const Layer& layer) {
  const bool causal = layer.padding == "causal" || layer.padding == "CAUSAL";
  return {.strides = {1, OneSide(layer.strides, "strides")},
          .padding = causal ? "VALID" : PaddingName(layer.padding),
          .dilations = {1, OneSide(layer.dilation_rate, "dilation_rate")}};
}

template <class Layer>
ops::ConvOptions DepthwiseWindowOf(const Layer& layer, const LayerScope& scope) {
  ops::ConvOptions window = ConvWindowOf(layer);
  if (window.strides[0] != window.strides[1]) {
    scope.Fail(fmt::format("strides are {} and {}, expected two equal numbers", window.strides[0],
                           window.strides[1]));
  }
  return window;
}

// Steps as an image of height 1, with the zeros ahead that causal padding asks for.
template <class Layer>
Value AsImage(const Layer& layer, Value x) {
  if (layer.padding == "causal" || layer.padding == "CAUSAL") {
    const int64_t ahead = (OneSide(layer.kernel_size, "kernel_size") - 1) *
                          OneSide(layer.dilation_rate, "dilation_rate");
    x = ops::Pad(x, {{0, 0}, {ahead, 0}, {0, 0}});
  }
  return ops::ExpandDims(x, 1);
}

template <class Layer>
const Variable* AddBias(const Layer& layer, LayerScope& scope, int64_t channels) {
  if (!layer.use_bias) return nullptr;
  return scope.AddWeight("bias", Shape{channels}, layer.bias_initializer,
                         {.trainable = layer.trainable,
                          .regularizer = &layer.bias_regularizer,
                          .constraint = &layer.bias_constraint});
}

// The kernel of a convolution over `size`, which reads `channels` channels in layer.groups groups.
template <class Layer>
const Variable* AddKernel(const Layer& layer, LayerScope& scope, std::vector<int64_t> size,
                          int64_t channels) {
  const int64_t groups = layer.groups;
  if (groups < 1 || channels % groups != 0 || layer.filters % groups != 0) {
    scope.Fail(fmt::format("{} channels and {} filters cannot be split into {} groups", channels,
                           layer.filters, groups));
  }
  size.insert(size.end(), {channels / groups, layer.filters});
  return scope.AddWeight("kernel", Shape(size), layer.kernel_initializer,
                         {.trainable = layer.trainable,
                          .regularizer = &layer.kernel_regularizer,
                          .constraint = &layer.kernel_constraint});
}

template <class Layer>
const Variable* AddDepthwiseKernel(const Layer& layer, LayerScope& scope, std::vector<int64_t> size,
                                   int64_t channels) {
  if (layer.depth_multiplier < 1) {
    scope.Fail(fmt::format("depth_multiplier is {}, expected at least 1", layer.depth_multiplier));
  }
  size.insert(size.end(), {channels, layer.depth_multiplier});
  return scope.AddWeight("depthwise_kernel", Shape(size), layer.depthwise_initializer,
                         {.trainable = layer.trainable,
                          .regularizer = &layer.depthwise_regularizer,
                          .constraint = &layer.depthwise_constraint});
}

// The kernel of the convolution that mixes the channels of a depthwise one.
template <class Layer>
const Variable* AddPointwiseKernel(const Layer& layer, LayerScope& scope, std::vector<int64_t> ones,
                                   int64_t channels) {
  ones.insert(ones.end(), {channels * layer.depth_multiplier, layer.filters});
  return scope.AddWeight("pointwise_kernel", Shape(ones), layer.pointwise_initializer,
                         {.trainable = layer.trainable,
                          .regularizer = &layer.pointwise_regularizer,
                          .constraint = &layer.pointwise_constraint});
}

void CheckFilters(int64_t filters, const LayerScope& scope) {
  if (filters < 1) scope.Fail(fmt::format("filters is {}, expected at least 1", filters));
}

// Bias and activation, and the end of the layer.
template <class Layer>
Value Finish(const Layer& layer, const LayerScope& scope, Value y, const Variable* bias) {
  if (bias != nullptr) y = ops::BiasAdd(y, scope.Use(bias));
  return scope.Output(Activate(layer.activation.value_or("linear"), y), layer.activity_regularizer);
}

}  // namespace

template <>
Value Conv<2>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 4);
  const Variable* const kernel =
      AddKernel(*this, scope, HeightAndWidth(kernel_size, "kernel_size"), channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  return Finish(*this, scope, ops::Conv2D(x, scope.Use(kernel), ConvWindowOf(*this)), bias);
}

template <>
Value DepthwiseConv<2>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  const int64_t channels = scope.Channels(x, 4);
  const ops::ConvOptions window = DepthwiseWindowOf(*this, scope);
  const Variable* const kernel =
      AddDepthwiseKernel(*this, scope, HeightAndWidth(kernel_size, "kernel_size"), channels);
  const Variable* const bias = AddBias(*this, scope, channels * depth_multiplier);
  const NameScope nodes = scope.Nodes();
  return Finish(*this, scope, ops::DepthwiseConv2dNative(x, scope.Use(kernel), window), bias);
}

template <>
Value SeparableConv<2>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 4);
  const ops::ConvOptions window = DepthwiseWindowOf(*this, scope);
  const Variable* const depthwise =
      AddDepthwiseKernel(*this, scope, HeightAndWidth(kernel_size, "kernel_size"), channels);
  const Variable* const pointwise = AddPointwiseKernel(*this, scope, {1, 1}, channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  const Value deep = ops::DepthwiseConv2dNative(x, scope.Use(depthwise), window);
  const Value mixed = ops::Conv2D(deep, scope.Use(pointwise), {.padding = "VALID"});
  return Finish(*this, scope, mixed, bias);
}

template <>
Value Conv<1>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 3);
  const Variable* const kernel =
      AddKernel(*this, scope, {OneSide(kernel_size, "kernel_size")}, channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  const Value y =
      ops::Conv2D(AsImage(*this, x), ops::ExpandDims(scope.Use(kernel), 0), StepWindowOf(*this));
  return Finish(*this, scope, ops::Squeeze(y, {1}), bias);
}

template <>
Value SeparableConv<1>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 3);
  const Variable* const depthwise =
      AddDepthwiseKernel(*this, scope, {OneSide(kernel_size, "kernel_size")}, channels);
  const Variable* const pointwise = AddPointwiseKernel(*this, scope, {1}, channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  ops::ConvOptions window = StepWindowOf(*this);
  window.strides[0] = window.strides[1];  // the op takes equal ones
  const NameScope nodes = scope.Nodes();
  const Value deep = ops::DepthwiseConv2dNative(AsImage(*this, x),
                                                ops::ExpandDims(scope.Use(depthwise), 0), window);
  const Value mixed =
      ops::Conv2D(deep, ops::ExpandDims(scope.Use(pointwise), 0), {.padding = "VALID"});
  return Finish(*this, scope, ops::Squeeze(mixed, {1}), bias);
}

template <>
Value DepthwiseConv<1>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  const int64_t channels = scope.Channels(x, 3);
  const Variable* const kernel =
      AddDepthwiseKernel(*this, scope, {OneSide(kernel_size, "kernel_size")}, channels);
  const Variable* const bias = AddBias(*this, scope, channels * depth_multiplier);
  ops::ConvOptions window = StepWindowOf(*this);
  window.strides[0] = window.strides[1];  // the op takes equal ones
  const NameScope nodes = scope.Nodes();
  const Value y =
      ops::DepthwiseConv2dNative(AsImage(*this, x), ops::ExpandDims(scope.Use(kernel), 0), window);
  return Finish(*this, scope, ops::Squeeze(y, {1}), bias);
}

// ---- over volumes -------------------------------------------------------------------------------

namespace {

// The slice of one group's channels, or filters, on the last axis.
Value LastAxisPart(Value x, int64_t group, int64_t size) {
  const auto rank = static_cast<size_t>(x.shape().rank());
  std::vector<int64_t> begin(rank, 0);
  std::vector<int64_t> sizes(rank, -1);
  begin.back() = group * size;
  sizes.back() = size;
  return ops::Slice(x, begin, sizes);
}

// An axis of a volume under a window.
struct VolumeAxis {
  int64_t size;  // of the kernel
  int64_t stride;
  int64_t dilation;
  int64_t in;
  int64_t out = 0;
  int64_t before = 0;  // zeros
  int64_t after = 0;

  [[nodiscard]] int64_t span() const { return (size - 1) * dilation + 1; }
  [[nodiscard]] int64_t padded() const { return before + in + after; }
};

VolumeAxis AxisOfVolume(const LayerScope& scope, VolumeAxis axis, bool same) {
  if (same) {
    axis.out = (axis.in + axis.stride - 1) / axis.stride;
    const int64_t missing = (axis.out - 1) * axis.stride + axis.span() - axis.in;
    axis.before = std::max<int64_t>(missing, 0) / 2;
    axis.after = std::max<int64_t>(missing, 0) - axis.before;
  } else {
    if (axis.in < axis.span()) {
      scope.Fail(fmt::format("a window of {} does not fit into {}", axis.span(), axis.in));
    }
    axis.out = (axis.in - axis.span()) / axis.stride + 1;
  }
  return axis;
}

// A convolution over volumes as one over images. The depths that a result sees stand side by side
// as channels: of [N, D, H, W, C] and a kernel of depth kd that is [N, D', H, W, kd * C]. The
// slices of a volume stand one below the other, [N, D' * H, W, kd * C], with as many rows as a
// multiple of the stride, so that the results of each begin where it does; what lies across two is
// cut off.
Value ConvOverVolume(Value x, Value kernel, const std::vector<VolumeAxis>& axes) {
  const VolumeAxis &depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t channels = kernel.shape().dim(3), filters = kernel.shape().dim(4);
  const int64_t most = std::max(height.padded(), (height.out - 1) * height.stride + height.span());
  const int64_t rows = (most + height.stride - 1) / height.stride * height.stride;
  x = ops::Pad(x, {{0, 0},
                   {depth.before, depth.after},
                   {height.before, rows - height.before - height.in},
                   {width.before, width.after},
                   {0, 0}});
  std::vector<Value> slices;
  for (int64_t k = 0; k < depth.size; ++k) {
    const int64_t first = k * depth.dilation;
    slices.push_back(
        ops::StridedSlice(x, {.begin = {0, first, 0, 0, 0},
                              .end = {0, first + (depth.out - 1) * depth.stride + 1, 0, 0, 0},
                              .strides = {1, depth.stride, 1, 1, 1},
                              .begin_mask = 0b11101,
                              .end_mask = 0b11101}));
  }
  const int64_t seen = depth.size * channels;
  const Value beside = slices.size() == 1 ? slices[0] : ops::ConcatV2(slices, 4);
  const Value image =
      ops::Reshape(beside, Shape{kUnknownDim, depth.out * rows, width.padded(), seen});
  const Value filter = ops::Reshape(ops::Transpose(kernel, {1, 2, 0, 3, 4}),
                                    Shape{height.size, width.size, seen, filters});
  const int64_t behind = std::max<int64_t>(height.span() - height.stride, 0);
  const Value y = ops::Conv2D(image, filter,
                              {.strides = {height.stride, width.stride},
                               .padding = "EXPLICIT",
                               .explicit_paddings = {0, behind, 0, 0},
                               .dilations = {height.dilation, width.dilation}});
  const Value volume =
      ops::Reshape(y, Shape{kUnknownDim, depth.out, rows / height.stride, width.out, filters});
  return ops::Slice(volume, {0, 0, 0, 0, 0}, {-1, -1, height.out, -1, -1});
}

}  // namespace

template <>
Value Conv<3>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 5);
  const std::vector<int64_t> sizes = DepthHeightWidth(kernel_size, "kernel_size");
  const std::vector<int64_t> steps = DepthHeightWidth(strides, "strides");
  const std::vector<int64_t> dilations = DepthHeightWidth(dilation_rate, "dilation_rate");
  std::vector<VolumeAxis> axes;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t in = scope.Dimension(x, static_cast<int>(i) + 1);
    axes.push_back(AxisOfVolume(scope, {sizes[i], steps[i], dilations[i], in},
                                PaddingName(padding) == "SAME"));
  }
  const Variable* const kernel = AddKernel(*this, scope, sizes, channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  const Value all = scope.Use(kernel);
  if (groups == 1) return Finish(*this, scope, ConvOverVolume(x, all, axes), bias);
  std::vector<Value> parts;
  for (int64_t group = 0; group < groups; ++group) {
    parts.push_back(ConvOverVolume(LastAxisPart(x, group, channels / groups),
                                   LastAxisPart(all, group, filters / groups), axes));
  }
  return Finish(*this, scope, ops::ConcatV2(parts, -1), bias);
}

// ---- transposed ---------------------------------------------------------------------------------

namespace {

// One side for each axis of a window.
std::vector<int64_t> SidesOver(int axes, const Sides& sides, std::string_view what) {
  if (axes == 1) return {OneSide(sides, what)};
  return axes == 2 ? HeightAndWidth(sides, what) : DepthHeightWidth(sides, what);
}

// Returns the number of steps that output_padding adds to each axis.
std::vector<int64_t> Additions(const LayerScope& scope,
                               const std::variant<int64_t, std::vector<int64_t>>& padding,
                               const std::vector<int64_t>& strides) {
  const auto* const one = std::get_if<int64_t>(&padding);
  std::vector<int64_t> all = one != nullptr ? std::vector<int64_t>(strides.size(), *one)
                                            : std::get<std::vector<int64_t>>(padding);
  if (all.size() != strides.size()) {
    scope.Fail(fmt::format("output_padding must be one or {} integers", strides.size()));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] < 0 || all[i] >= strides[i]) {
      scope.Fail(fmt::format("output_padding is {}, expected from 0 to strides - 1, {}", all[i],
                             strides[i] - 1));
    }
  }
  return all;
}

// Keras' rule for every convolution that it has.
void CheckDilation(const LayerScope& scope, const std::vector<int64_t>& strides,
                   const std::vector<int64_t>& dilations) {
  const auto above_one = [](const std::vector<int64_t>& sides) {
    return std::any_of(sides.begin(), sides.end(), [](int64_t side) { return side > 1; });
  };
  if (!above_one(strides) || !above_one(dilations)) return;
  scope.Fail("`strides > 1` not supported in conjunction with `dilation_rate > 1`",
             "strides: 1, or dilation_rate: 1");
}

// [batch of x, dims...] as a value.
Value SizesWithBatchOf(Value x, const std::vector<int64_t>& dims) {
  Graph& graph = x.graph();
  if (x.shape().dim(0) != kUnknownDim) {
    std::vector<int64_t> all = {x.shape().dim(0)};
    all.insert(all.end(), dims.begin(), dims.end());
    return ops::Int32s(graph, all, "output_shape");
  }
  std::vector<Value> parts = {
      ops::StridedSlice(ops::ShapeOf(x), {.begin = {0}, .end = {1}, .shrink_axis_mask = 1})};
  for (const int64_t dim : dims) {
    parts.push_back(graph.ScalarOf(DType::kInt32, static_cast<double>(dim)));
  }
  return ops::Pack(parts, 0, "output_shape");
}

// ConvOverVolume turned about: x [N, D', H', W', C], kernel [kd, kh, kw, F, C] and the axes of the
// volume that is made, [N, D, H, W, F].
Value TransposedOverVolume(Value x, Value kernel, const std::vector<VolumeAxis>& axes) {
  const VolumeAxis &depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t filters = kernel.shape().dim(3), channels = kernel.shape().dim(4);
  const int64_t most = std::max(height.padded(), (height.out - 1) * height.stride + height.span());
  const int64_t steps = (most + height.stride - 1) / height.stride;
  const int64_t rows = steps * height.stride;
  const int64_t behind = std::max<int64_t>(height.span() - height.stride, 0);
  const int64_t seen = depth.size * filters;
  const Value image =
      ops::Reshape(ops::Pad(x, {{0, 0}, {0, 0}, {0, steps - height.out}, {0, 0}, {0, 0}}),
                   Shape{kUnknownDim, depth.out * steps, width.out, channels});
  const Value filter = ops::Reshape(ops::Transpose(kernel, {1, 2, 0, 3, 4}),
                                    Shape{height.size, width.size, seen, channels});
  const Value wide = ops::Conv2DBackpropInput(
      SizesWithBatchOf(x, {depth.out * rows + behind, width.padded(), seen}), filter, image,
      {.strides = {height.stride, width.stride}, .padding = "VALID"});
  const Value all = ops::Slice(wide, {0, 0, 0, 0}, {-1, depth.out * rows, -1, -1});
  // Each depth of the kernel adds its slices at its place, `stride` apart.
  const int64_t apart = (depth.out - 1) * depth.stride + 1;
  const int64_t deep = std::max(depth.padded(), apart + depth.size - 1);
  std::vector<Value> parts;
  for (int64_t k = 0; k < depth.size; ++k) {
    Value part = ops::Reshape(LastAxisPart(all, k, filters),
                              Shape{kUnknownDim, depth.out, 1, rows * width.padded(), filters});
    part = ops::Pad(part, {{0, 0}, {0, 0}, {0, depth.stride - 1}, {0, 0}, {0, 0}});
    part = ops::Reshape(
        part, Shape{kUnknownDim, depth.out * depth.stride, rows, width.padded(), filters});
    part = ops::Slice(part, {0, 0, 0, 0, 0}, {-1, apart, -1, -1, -1});
    parts.push_back(ops::Pad(part, {{0, 0}, {k, deep - apart - k}, {0, 0}, {0, 0}, {0, 0}}));
  }
  return ops::Slice(ops::AddN(parts), {0, depth.before, height.before, width.before, 0},
                    {-1, depth.in, height.in, width.in, -1});
}

// Returns an axis of a transposed convolution of `window.in` steps, in the form of the convolution
// that it transposes; its length is computed as in Keras.
VolumeAxis TransposedAxis(const LayerScope& scope, VolumeAxis window, bool same,
                          std::optional<int64_t> added) {
  const int64_t in = window.in, span = window.span(), stride = window.stride;
  const int64_t length = added  ? (in - 1) * stride + span - (same ? 2 * (span / 2) : 0) + *added
                         : same ? in * stride
                                : in * stride + std::max<int64_t>(span - stride, 0);
  window.in = length;
  const VolumeAxis axis = AxisOfVolume(scope, window, same);
  if (axis.out != in) {
    scope.Fail(
        fmt::format("{} steps with output_padding give {}, from which a convolution gives {}", in,
                    length, axis.out));
  }
  return axis;
}

}  // namespace

template <int axes>
Value TransposedConv<axes>::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, axes + 2);
  const std::vector<int64_t> size = SidesOver(axes, kernel_size, "kernel_size");
  const std::vector<int64_t> steps = SidesOver(axes, strides, "strides");
  const std::vector<int64_t> dilations = SidesOver(axes, dilation_rate, "dilation_rate");
  CheckDilation(scope, steps, dilations);
  const bool same = PaddingName(padding) == "SAME";
  const auto added =
      output_padding ? std::optional(Additions(scope, *output_padding, steps)) : std::nullopt;
  std::vector<VolumeAxis> made;
  std::vector<int64_t> result;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t in = scope.Dimension(x, static_cast<int>(i) + 1);
    made.push_back(TransposedAxis(scope, {size[i], steps[i], dilations[i], in}, same,
                                  added ? std::optional((*added)[i]) : std::nullopt));
    result.push_back(made.back().in);
  }
  std::vector<int64_t> dims = size;
  dims.insert(dims.end(), {filters, channels});
  const Variable* const kernel = scope.AddWeight("kernel", Shape(dims), kernel_initializer,
                                                 {.trainable = trainable,
                                                  .regularizer = &kernel_regularizer,
                                                  .constraint = &kernel_constraint});
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  if constexpr (axes == 3) {
    return Finish(*this, scope, TransposedOverVolume(x, scope.Use(kernel), made), bias);
  }
  result.push_back(filters);
  if constexpr (axes == 2) {
    const Value y = ops::Conv2DBackpropInput(
        SizesWithBatchOf(x, result), scope.Use(kernel), x,
        {.strides = steps, .padding = PaddingName(padding), .dilations = dilations});
    return Finish(*this, scope, y, bias);
  }
  // Steps are the width of an image of height 1.
  result.insert(result.begin(), 1);
  const Value y = ops::Conv2DBackpropInput(
      SizesWithBatchOf(x, result), ops::ExpandDims(scope.Use(kernel), 0), ops::ExpandDims(x, 1),
      {.strides = {1, steps[0]}, .padding = PaddingName(padding), .dilations = {1, dilations[0]}});
  return Finish(*this, scope, ops::Squeeze(y, {1}), bias);
}

template struct TransposedConv<1>;
template struct TransposedConv<2>;
template struct TransposedConv<3>;

}  // namespace tpuest::nn
