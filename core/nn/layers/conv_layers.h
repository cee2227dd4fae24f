#pragma once
// Convolutions over images [batch, height, width, channels], tf.layers.conv2d, separable_conv2d and
// Keras' DepthwiseConv2D and Conv2DTranspose, and the same over rows [batch, steps, channels].

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/activations.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

inline constexpr std::string_view kSidesHelp = "one integer, or height and width";
inline constexpr std::string_view kEqualSidesHelp = "one integer, or equal height and width";

// The help of a length per axis.
[[nodiscard]] constexpr std::string_view SidesHelp(int axes) {
  return axes == 1 ? kSideHelp : axes == 2 ? kSidesHelp : kThreeSidesHelp;
}

// Visits the arguments of a window over one to three axes: kernel_size, strides and padding.
template <class V, class Layer>
void VisitWindow(V& v, Layer& layer, int axes, std::string_view strides) {
  v("kernel_size", layer.kernel_size, {.help = SidesHelp(axes), .required = true});
  v("strides", layer.strides, {.help = strides});
  if (axes == 1) {
    v("padding", layer.padding,
      {.help = "`same` pads to keep the number of steps (divided by strides); `causal` does too, "
               "with all padding at the start; `valid` does not pad",
       .values = {"valid", "same", "causal", "VALID", "SAME", "CAUSAL"}});
  } else {
    v("padding", layer.padding,
      {.help = "`same` pads to keep the size (divided by strides); `valid` does not pad",
       .values = {"valid", "same", "VALID", "SAME"}});
  }
}

[[nodiscard]] constexpr LayerType ConvTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"conv1d",
       {"Conv1D"},
       "name of the layer and of its variables; default: conv1d, conv1d_1, ...",
       "convolution over the steps of a sequence"},
      {"conv2d",
       {"Conv2D"},
       "name of the layer and of its variables; default: conv2d, conv2d_1, ...",
       "convolution of images"},
      {"conv3d",
       {"Conv3D"},
       "name of the layer and of its variables; default: conv3d, conv3d_1, ...",
       "convolution over three axes"}};
  return kTypes[axes - 1];
}

// A convolution [batch, ..., channels] -> [batch, ..., filters] over one to three axes (steps;
// height and width; depth, height and width), as tf.nn.conv1d, conv2d and conv3d, then bias and
// activation. Variables kernel [..., channels / groups, filters], bias [filters]. Padding "causal"
// of one axis: no step depends on later steps.
template <int axes>
struct Conv {
  static constexpr std::string_view kType = ConvTypeOf(axes).type;
  static constexpr std::string_view kSummary = ConvTypeOf(axes).summary;
  static constexpr std::string_view kAliases[] = {ConvTypeOf(axes).aliases[0]};
  int64_t filters = 0;
  Sides kernel_size;
  Sides strides = 1;
  std::string padding = "valid";
  Sides dilation_rate = 1;
  int64_t groups = 1;
  std::optional<std::string> activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = ZerosInitializer{};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
  Regularizer activity_regularizer;
  Constraint kernel_constraint;
  Constraint bias_constraint;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("filters", filters, {.help = "number of output channels", .required = true});
    VisitWindow(v, *this, axes, SidesHelp(axes));
    v("dilation_rate", dilation_rate, {.help = SidesHelp(axes)});
    v("groups", groups, {.help = "number of channel groups, each with filters / groups filters"});
    VisitActivation(v, *this);
    VisitKernelAndBias(v, *this);
    VisitVariables(v, *this, ConvTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using Conv1D = Conv<1>;
using Conv2D = Conv<2>;
using Conv3D = Conv<3>;
// Specialized in conv_layers.cpp.
template <>
Value Conv<1>::Apply(LayerContext& context, Value x) const;
template <>
Value Conv<2>::Apply(LayerContext& context, Value x) const;
template <>
Value Conv<3>::Apply(LayerContext& context, Value x) const;

[[nodiscard]] constexpr LayerType DepthwiseTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"depthwise_conv1d",
       {"DepthwiseConv1D"},
       "name of the layer and of its variables; default: depthwise_conv1d, ...",
       "convolution of each channel of a sequence separately"},
      {"depthwise_conv2d",
       {"DepthwiseConv2D"},
       "name of the layer and of its variables; default: depthwise_conv2d, ...",
       "convolution of each channel of images separately"}};
  return kTypes[axes - 1];
}

// A convolution of each channel by its own depth_multiplier filters (tf.nn.depthwise_conv2d),
// over steps or over height and width. Variables depthwise_kernel [..., channels,
// depth_multiplier], bias [channels * depth_multiplier].
template <int axes>
struct DepthwiseConv {
  static constexpr std::string_view kType = DepthwiseTypeOf(axes).type;
  static constexpr std::string_view kSummary = DepthwiseTypeOf(axes).summary;
  static constexpr std::string_view kAliases[] = {DepthwiseTypeOf(axes).aliases[0]};
  Sides kernel_size;
  Sides strides = 1;
  std::string padding = "valid";
  int64_t depth_multiplier = 1;
  Sides dilation_rate = 1;
  std::optional<std::string> activation;
  bool use_bias = true;
  Initializer depthwise_initializer = GlorotUniform{};
  Initializer bias_initializer = ZerosInitializer{};
  Regularizer depthwise_regularizer;
  Regularizer bias_regularizer;
  Regularizer activity_regularizer;
  Constraint depthwise_constraint;
  Constraint bias_constraint;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitWindow(v, *this, axes, axes == 1 ? kSideHelp : kEqualSidesHelp);
    v("depth_multiplier", depth_multiplier, {.help = "number of filters per channel"});
    v("dilation_rate", dilation_rate, {.help = SidesHelp(axes)});
    VisitActivation(v, *this);
    v("depthwise_initializer", depthwise_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("depthwise_regularizer", depthwise_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("depthwise_constraint", depthwise_constraint,
      {.help = "limit on the depthwise kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this, DepthwiseTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using DepthwiseConv1D = DepthwiseConv<1>;
using DepthwiseConv2D = DepthwiseConv<2>;
// Specialized in conv_layers.cpp.
template <>
Value DepthwiseConv<1>::Apply(LayerContext& context, Value x) const;
template <>
Value DepthwiseConv<2>::Apply(LayerContext& context, Value x) const;

[[nodiscard]] constexpr LayerType SeparableTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"separable_conv1d",
       {"SeparableConv1D"},
       "name of the layer and of its variables; default: separable_conv1d, ...",
       "convolution of each channel of a sequence separately, then a convolution of width 1 over "
       "the channels"},
      {"separable_conv2d",
       {"SeparableConv2D"},
       "name of the layer and of its variables; default: separable_conv2d, ...",
       "convolution of each channel of images separately, then a 1x1 convolution over the "
       "channels"}};
  return kTypes[axes - 1];
}

// A depthwise convolution, then one of a single step or pixel that mixes the channels
// (tf.nn.separable_conv2d). Variables depthwise_kernel [..., channels, depth_multiplier],
// pointwise_kernel [1 (, 1), channels * depth_multiplier, filters], bias [filters].
template <int axes>
struct SeparableConv {
  static constexpr std::string_view kType = SeparableTypeOf(axes).type;
  static constexpr std::string_view kSummary = SeparableTypeOf(axes).summary;
  static constexpr std::string_view kAliases[] = {SeparableTypeOf(axes).aliases[0]};
  int64_t filters = 0;
  Sides kernel_size;
  Sides strides = 1;
  std::string padding = "valid";
  Sides dilation_rate = 1;
  int64_t depth_multiplier = 1;
  std::optional<std::string> activation;
  bool use_bias = true;
  Initializer depthwise_initializer = GlorotUniform{};
  Initializer pointwise_initializer = GlorotUniform{};
  Initializer bias_initializer = ZerosInitializer{};
  Regularizer depthwise_regularizer;
  Regularizer pointwise_regularizer;
  Regularizer bias_regularizer;
  Regularizer activity_regularizer;
  Constraint depthwise_constraint;
  Constraint pointwise_constraint;
  Constraint bias_constraint;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("filters", filters, {.help = "number of output channels", .required = true});
    VisitWindow(v, *this, axes, axes == 1 ? kSideHelp : kEqualSidesHelp);
    v("dilation_rate", dilation_rate, {.help = SidesHelp(axes)});
    v("depth_multiplier", depth_multiplier, {.help = "number of depthwise filters per channel"});
    VisitActivation(v, *this);
    v("depthwise_initializer", depthwise_initializer,
      {.help = "initial values of the depthwise kernel"});
    v("pointwise_initializer", pointwise_initializer,
      {.help = "initial values of the pointwise kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("depthwise_regularizer", depthwise_regularizer, {.help = "penalty on the depthwise kernel"});
    v("pointwise_regularizer", pointwise_regularizer, {.help = "penalty on the pointwise kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("depthwise_constraint", depthwise_constraint,
      {.help = "limit on the depthwise kernel, applied after each update"});
    v("pointwise_constraint", pointwise_constraint,
      {.help = "limit on the pointwise kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this, SeparableTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using SeparableConv1D = SeparableConv<1>;
using SeparableConv2D = SeparableConv<2>;
// Specialized in conv_layers.cpp.
template <>
Value SeparableConv<1>::Apply(LayerContext& context, Value x) const;
template <>
Value SeparableConv<2>::Apply(LayerContext& context, Value x) const;

// The transpose of a convolution over one to three axes (tf.nn.conv1d_transpose, conv2d_transpose,
// conv3d_transpose): [batch, ..., channels] -> [batch, ..., filters], then bias and activation. The
// result is `strides` times as long with padding same, and at least as long as the kernel with
// valid; or output_padding, below strides, sets its length: (length - 1) * strides + kernel +
// output_padding, less twice half the kernel if same. A kernel of dilation_rate d counts as (kernel
// - 1) * d + 1. As in Keras, strides and dilation exclude each other, and three axes allow no
// dilation. Variables kernel [..., filters, channels], bias [filters].
[[nodiscard]] constexpr LayerType TransposedTypeOf(int axes) {
  constexpr std::string_view kSummary = "transposed convolution, which enlarges its input";
  constexpr LayerType kTypes[] = {
      {"conv1d_transpose",
       {"Conv1DTranspose"},
       "name of the layer and of its variables; default: conv1d_transpose, ...",
       kSummary},
      {"conv2d_transpose",
       {"Conv2DTranspose"},
       "name of the layer and of its variables; default: conv2d_transpose, ...",
       kSummary},
      {"conv3d_transpose",
       {"Conv3DTranspose"},
       "name of the layer and of its variables; default: conv3d_transpose, ...",
       kSummary}};
  return kTypes[axes - 1];
}

template <int axes>
struct TransposedConv {
  static constexpr std::string_view kType = TransposedTypeOf(axes).type;
  static constexpr std::string_view kSummary = TransposedTypeOf(axes).summary;
  static constexpr std::string_view kAliases[] = {TransposedTypeOf(axes).aliases[0]};
  int64_t filters = 0;
  Sides kernel_size;
  Sides strides = 1;
  std::string padding = "valid";
  std::optional<std::variant<int64_t, std::vector<int64_t>>> output_padding;
  Sides dilation_rate = 1;  // for one or two axes
  std::optional<std::string> activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = ZerosInitializer{};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
  Regularizer activity_regularizer;
  Constraint kernel_constraint;
  Constraint bias_constraint;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    const std::string_view sides = SidesHelp(axes);
    v("filters", filters, {.help = "number of output channels", .required = true});
    v("kernel_size", kernel_size, {.help = sides, .required = true});
    v("strides", strides, {.help = sides});
    v("padding", padding,
      {.help = "`same` multiplies the length by strides",
       .values = {"valid", "same", "VALID", "SAME"}});
    v("output_padding", output_padding,
      {.help = "number added to the length, less than strides; `null` follows padding"});
    if constexpr (axes < 3) v("dilation_rate", dilation_rate, {.help = sides});
    VisitActivation(v, *this);
    VisitKernelAndBias(v, *this);
    VisitVariables(v, *this, TransposedTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using Conv1DTranspose = TransposedConv<1>;
using Conv2DTranspose = TransposedConv<2>;
using Conv3DTranspose = TransposedConv<3>;

}  // namespace tpuest::nn
