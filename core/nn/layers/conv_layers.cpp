#include "core/nn/layers/conv_layers.h"

#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/conv.h"

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
    scope.Fail(fmt::format("strides are {} and {}, expected equal ones", window.strides[0],
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
                         {.trainable = layer.trainable, .regularizer = &layer.bias_regularizer});
}

// The kernel of a convolution over `size`, which reads `channels` channels in layer.groups groups.
template <class Layer>
const Variable* AddKernel(const Layer& layer, LayerScope& scope, std::vector<int64_t> size,
                          int64_t channels) {
  const int64_t groups = layer.groups;
  if (groups < 1 || channels % groups != 0 || layer.filters % groups != 0) {
    scope.Fail(fmt::format("{} channels and {} filters do not make {} groups", channels,
                           layer.filters, groups));
  }
  size.insert(size.end(), {channels / groups, layer.filters});
  return scope.AddWeight("kernel", Shape(size), layer.kernel_initializer,
                         {.trainable = layer.trainable, .regularizer = &layer.kernel_regularizer});
}

template <class Layer>
const Variable* AddDepthwiseKernel(const Layer& layer, LayerScope& scope, std::vector<int64_t> size,
                                   int64_t channels) {
  if (layer.depth_multiplier < 1) {
    scope.Fail(fmt::format("depth_multiplier is {}, expected at least 1", layer.depth_multiplier));
  }
  size.insert(size.end(), {channels, layer.depth_multiplier});
  return scope.AddWeight(
      "depthwise_kernel", Shape(size), layer.depthwise_initializer,
      {.trainable = layer.trainable, .regularizer = &layer.depthwise_regularizer});
}

// The kernel of the convolution that mixes the channels of a depthwise one.
template <class Layer>
const Variable* AddPointwiseKernel(const Layer& layer, LayerScope& scope, std::vector<int64_t> ones,
                                   int64_t channels) {
  ones.insert(ones.end(), {channels * layer.depth_multiplier, layer.filters});
  return scope.AddWeight(
      "pointwise_kernel", Shape(ones), layer.pointwise_initializer,
      {.trainable = layer.trainable, .regularizer = &layer.pointwise_regularizer});
}

// The convolution, each group of channels by its own filters (Krizhevsky et al. 2012).
Value Grouped(Value x, Value kernel, const ops::ConvOptions& window, int64_t groups) {
  if (groups == 1) return ops::Conv2D(x, kernel, window);
  const int64_t channels = kernel.shape().dim(2);
  const int64_t filters = kernel.shape().dim(3) / groups;
  std::vector<Value> parts;
  for (int64_t group = 0; group < groups; ++group) {
    const Value own = ops::Slice(x, {0, 0, 0, group * channels}, {-1, -1, -1, channels});
    const Value by = ops::Slice(kernel, {0, 0, 0, group * filters}, {-1, -1, -1, filters});
    parts.push_back(ops::Conv2D(own, by, window));
  }
  return ops::ConcatV2(parts, -1);
}

void CheckFilters(int64_t filters, const LayerScope& scope) {
  if (filters < 1) scope.Fail(fmt::format("filters is {}, expected at least 1", filters));
}

Value Finish(const LayerScope& scope, Value y, const Variable* bias,
             const std::optional<std::string>& activation) {
  if (bias != nullptr) y = ops::BiasAdd(y, scope.Use(bias));
  return scope.Output(Activate(activation.value_or("linear"), y));
}

}  // namespace

Value Conv2D::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 4);
  const Variable* const kernel =
      AddKernel(*this, scope, HeightAndWidth(kernel_size, "kernel_size"), channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  return Finish(scope, Grouped(x, scope.Use(kernel), ConvWindowOf(*this), groups), bias,
                activation);
}

Value DepthwiseConv2D::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  const int64_t channels = scope.Channels(x, 4);
  const ops::ConvOptions window = DepthwiseWindowOf(*this, scope);
  const Variable* const kernel =
      AddDepthwiseKernel(*this, scope, HeightAndWidth(kernel_size, "kernel_size"), channels);
  const Variable* const bias = AddBias(*this, scope, channels * depth_multiplier);
  const NameScope nodes = scope.Nodes();
  return Finish(scope, ops::DepthwiseConv2dNative(x, scope.Use(kernel), window), bias, activation);
}

Value SeparableConv2D::Apply(LayerContext& context, Value x) const {
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
  return Finish(scope, mixed, bias, activation);
}

Value Conv1D::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 3);
  const Variable* const kernel =
      AddKernel(*this, scope, {OneSide(kernel_size, "kernel_size")}, channels);
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  const Value y = Grouped(AsImage(*this, x), ops::ExpandDims(scope.Use(kernel), 0),
                          StepWindowOf(*this), groups);
  return Finish(scope, ops::Squeeze(y, {1}), bias, activation);
}

Value SeparableConv1D::Apply(LayerContext& context, Value x) const {
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
  return Finish(scope, ops::Squeeze(mixed, {1}), bias, activation);
}

}  // namespace tpuest::nn
