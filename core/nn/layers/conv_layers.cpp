#include "core/nn/layers/conv_layers.h"

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

template <class Layer>
ops::ConvOptions DepthwiseWindowOf(const Layer& layer, const LayerScope& scope) {
  ops::ConvOptions window = ConvWindowOf(layer);
  if (window.strides[0] != window.strides[1]) {
    scope.Fail(fmt::format("strides are {} and {}, expected equal ones", window.strides[0],
                           window.strides[1]));
  }
  return window;
}

template <class Layer>
const Variable* AddBias(const Layer& layer, LayerScope& scope, int64_t channels) {
  if (!layer.use_bias) return nullptr;
  return scope.AddWeight("bias", Shape{channels}, layer.bias_initializer,
                         {.trainable = layer.trainable, .regularizer = &layer.bias_regularizer});
}

template <class Layer>
const Variable* AddDepthwiseKernel(const Layer& layer, LayerScope& scope, int64_t channels) {
  if (layer.depth_multiplier < 1) {
    scope.Fail(fmt::format("depth_multiplier is {}, expected at least 1", layer.depth_multiplier));
  }
  const std::vector<int64_t> size = HeightAndWidth(layer.kernel_size, "kernel_size");
  return scope.AddWeight(
      "depthwise_kernel", Shape{size[0], size[1], channels, layer.depth_multiplier},
      layer.depthwise_initializer,
      {.trainable = layer.trainable, .regularizer = &layer.depthwise_regularizer});
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
  const std::vector<int64_t> size = HeightAndWidth(kernel_size, "kernel_size");
  const Variable* const kernel =
      scope.AddWeight("kernel", Shape{size[0], size[1], channels, filters}, kernel_initializer,
                      {.trainable = trainable, .regularizer = &kernel_regularizer});
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  return Finish(scope, ops::Conv2D(x, scope.Use(kernel), ConvWindowOf(*this)), bias, activation);
}

Value DepthwiseConv2D::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  const int64_t channels = scope.Channels(x, 4);
  const ops::ConvOptions window = DepthwiseWindowOf(*this, scope);
  const Variable* const kernel = AddDepthwiseKernel(*this, scope, channels);
  const Variable* const bias = AddBias(*this, scope, channels * depth_multiplier);
  const NameScope nodes = scope.Nodes();
  return Finish(scope, ops::DepthwiseConv2dNative(x, scope.Use(kernel), window), bias, activation);
}

Value SeparableConv2D::Apply(LayerContext& context, Value x) const {
  LayerScope scope(context, name, kType, place);
  CheckFilters(filters, scope);
  const int64_t channels = scope.Channels(x, 4);
  const ops::ConvOptions window = DepthwiseWindowOf(*this, scope);
  const Variable* const depthwise = AddDepthwiseKernel(*this, scope, channels);
  const Variable* const pointwise = scope.AddWeight(
      "pointwise_kernel", Shape{1, 1, channels * depth_multiplier, filters}, pointwise_initializer,
      {.trainable = trainable, .regularizer = &pointwise_regularizer});
  const Variable* const bias = AddBias(*this, scope, filters);
  const NameScope nodes = scope.Nodes();
  const Value deep = ops::DepthwiseConv2dNative(x, scope.Use(depthwise), window);
  const Value mixed = ops::Conv2D(deep, scope.Use(pointwise), {.padding = "VALID"});
  return Finish(scope, mixed, bias, activation);
}

}  // namespace tpuest::nn
