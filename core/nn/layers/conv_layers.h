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

// Visits the arguments of a window: kernel_size, strides and padding.
template <class V, class Layer>
void VisitWindow(V& v, Layer& layer, std::string_view strides) {
  v("kernel_size", layer.kernel_size, {.help = kSidesHelp, .required = true});
  v("strides", layer.strides, {.help = strides});
  v("padding", layer.padding,
    {.help = "`same` pads to keep the number of steps (divided by strides); `valid` does not pad",
     .values = {"valid", "same", "VALID", "SAME"}});
}

// The arguments of a window over steps.
template <class V, class Layer>
void VisitWindow1D(V& v, Layer& layer) {
  v("kernel_size", layer.kernel_size, {.help = kSideHelp, .required = true});
  v("strides", layer.strides, {.help = kSideHelp});
  v("padding", layer.padding,
    {.help = "`same` pads to keep the number of steps (divided by strides); `causal` does too, "
             "with all padding at the start; `valid` does not pad",
     .values = {"valid", "same", "causal", "VALID", "SAME", "CAUSAL"}});
}

// A convolution [batch, height, width, channels] -> [batch, height', width', filters]
// (tf.nn.conv2d), then bias and activation. Variables kernel [height, width, channels / groups,
// filters], bias [filters].
struct Conv2D {
  static constexpr std::string_view kType = "conv2d";
  static constexpr std::string_view kSummary = "convolution of images";
  static constexpr std::string_view kAliases[] = {"Conv2D"};
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
    VisitWindow(v, *this, kSidesHelp);
    v("dilation_rate", dilation_rate, {.help = kSidesHelp});
    v("groups", groups, {.help = "number of channel groups, each with filters / groups filters"});
    VisitActivation(v, *this);
    v("kernel_initializer", kernel_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("kernel_regularizer", kernel_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("kernel_constraint", kernel_constraint,
      {.help = "limit on the kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: conv2d, conv2d_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A convolution of each channel by depth_multiplier filters of its own (tf.nn.depthwise_conv2d).
// Variables depthwise_kernel [height, width, channels, depth_multiplier], bias [channels *
// depth_multiplier].
struct DepthwiseConv2D {
  static constexpr std::string_view kType = "depthwise_conv2d";
  static constexpr std::string_view kSummary = "convolution of each channel of images separately";
  static constexpr std::string_view kAliases[] = {"DepthwiseConv2D"};
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
    VisitWindow(v, *this, kEqualSidesHelp);
    v("depth_multiplier", depth_multiplier, {.help = "number of filters per channel"});
    v("dilation_rate", dilation_rate, {.help = kSidesHelp});
    VisitActivation(v, *this);
    v("depthwise_initializer", depthwise_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("depthwise_regularizer", depthwise_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("depthwise_constraint", depthwise_constraint,
      {.help = "limit on the depthwise kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: depthwise_conv2d, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A convolution [batch, depth, height, width, channels] -> [batch, depth', height', width',
// filters] (tf.nn.conv3d), then bias and activation. Variables kernel [depth, height, width,
// channels / groups, filters], bias [filters].
struct Conv3D {
  static constexpr std::string_view kType = "conv3d";
  static constexpr std::string_view kSummary = "convolution over three axes";
  static constexpr std::string_view kAliases[] = {"Conv3D"};
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
    v("kernel_size", kernel_size, {.help = kThreeSidesHelp, .required = true});
    v("strides", strides, {.help = kThreeSidesHelp});
    v("padding", padding,
      {.help = "`same` pads to keep the number of steps (divided by strides); `valid` does not pad",
       .values = {"valid", "same", "VALID", "SAME"}});
    v("dilation_rate", dilation_rate, {.help = kThreeSidesHelp});
    v("groups", groups, {.help = "number of channel groups, each with filters / groups filters"});
    VisitActivation(v, *this);
    v("kernel_initializer", kernel_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("kernel_regularizer", kernel_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("kernel_constraint", kernel_constraint,
      {.help = "limit on the kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: conv3d, conv3d_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A depthwise convolution, then a 1x1 convolution that mixes the channels (tf.nn.separable_conv2d).
// Variables depthwise_kernel [height, width, channels, depth_multiplier], pointwise_kernel [1, 1,
// channels * depth_multiplier, filters], bias [filters].
struct SeparableConv2D {
  static constexpr std::string_view kType = "separable_conv2d";
  static constexpr std::string_view kSummary =
      "convolution of each channel of images separately, then a 1x1 convolution over the channels";
  static constexpr std::string_view kAliases[] = {"SeparableConv2D"};
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
    VisitWindow(v, *this, kEqualSidesHelp);
    v("dilation_rate", dilation_rate, {.help = kSidesHelp});
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
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: separable_conv2d, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A convolution [batch, steps, channels] -> [batch, steps', filters] (tf.nn.conv1d), then bias and
// activation. Variables kernel [steps, channels / groups, filters], bias [filters]. Padding
// "causal": no step sees those behind it.
struct Conv1D {
  static constexpr std::string_view kType = "conv1d";
  static constexpr std::string_view kSummary = "convolution over the steps of a sequence";
  static constexpr std::string_view kAliases[] = {"Conv1D"};
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
    VisitWindow1D(v, *this);
    v("dilation_rate", dilation_rate, {.help = kSideHelp});
    v("groups", groups, {.help = "number of channel groups, each with filters / groups filters"});
    VisitActivation(v, *this);
    v("kernel_initializer", kernel_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("kernel_regularizer", kernel_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("kernel_constraint", kernel_constraint,
      {.help = "limit on the kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: conv1d, conv1d_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A convolution of each channel over steps by depth_multiplier filters of its own. Variables
// depthwise_kernel [steps, channels, depth_multiplier], bias [channels * depth_multiplier].
struct DepthwiseConv1D {
  static constexpr std::string_view kType = "depthwise_conv1d";
  static constexpr std::string_view kSummary =
      "convolution of each channel of a sequence separately";
  static constexpr std::string_view kAliases[] = {"DepthwiseConv1D"};
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
    VisitWindow1D(v, *this);
    v("depth_multiplier", depth_multiplier, {.help = "number of filters per channel"});
    v("dilation_rate", dilation_rate, {.help = kSideHelp});
    VisitActivation(v, *this);
    v("depthwise_initializer", depthwise_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("depthwise_regularizer", depthwise_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("depthwise_constraint", depthwise_constraint,
      {.help = "limit on the depthwise kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: depthwise_conv1d, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A depthwise convolution over steps, then one of a single step that mixes the channels. Variables
// depthwise_kernel [steps, channels, depth_multiplier], pointwise_kernel [1, channels *
// depth_multiplier, filters], bias [filters].
struct SeparableConv1D {
  static constexpr std::string_view kType = "separable_conv1d";
  static constexpr std::string_view kSummary =
      "convolution of each channel of a sequence separately, then a convolution of width 1 over "
      "the channels";
  static constexpr std::string_view kAliases[] = {"SeparableConv1D"};
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
    VisitWindow1D(v, *this);
    v("dilation_rate", dilation_rate, {.help = kSideHelp});
    v("depth_multiplier", depth_multiplier, {.help = "number of depthwise filters per channel"});
    VisitActivation(v, *this);
    v("depthwise_initializer", depthwise_initializer,
      {.help = "initial values of the depthwise kernel"});
    v("pointwise_initializer", pointwise_initializer,
      {.help = "initial values of the pointwise kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("depthwise_regularizer", depthwise_regularizer,
      {.help = "initial values of the depthwise kernel"});
    v("pointwise_regularizer", pointwise_regularizer,
      {.help = "initial values of the pointwise kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("depthwise_constraint", depthwise_constraint,
      {.help = "limit on the depthwise kernel, applied after each update"});
    v("pointwise_constraint", pointwise_constraint,
      {.help = "limit on the pointwise kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: separable_conv1d, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The transpose of a convolution over one to three axes (tf.nn.conv1d_transpose and its kind):
// [batch, ..., channels] -> [batch, ..., filters], `strides` times as long with padding same, at
// least as long as the kernel with valid; or as long as output_padding, below strides, makes it:
// (length - 1) * strides + kernel + output_padding, less twice half the kernel if same. A kernel of
// dilation_rate d counts as (kernel - 1) * d + 1; there are strides or a dilation, as in Keras, and
// none over three axes. Then bias and activation. Variables kernel [..., filters, channels], bias
// [filters].
struct TransposedWords {
  std::string_view type;
  std::string_view alias;
  std::string_view name;  // help
};
[[nodiscard]] constexpr TransposedWords TransposedWordsOf(int axes) {
  constexpr TransposedWords kWords[] = {
      {"conv1d_transpose", "Conv1DTranspose",
       "name of the layer and of its variables; default: conv1d_transpose, ..."},
      {"conv2d_transpose", "Conv2DTranspose",
       "name of the layer and of its variables; default: conv2d_transpose, ..."},
      {"conv3d_transpose", "Conv3DTranspose",
       "name of the layer and of its variables; default: conv3d_transpose, ..."}};
  return kWords[axes - 1];
}

template <int axes>
struct TransposedConv {
  static constexpr std::string_view kType = TransposedWordsOf(axes).type;
  static constexpr std::string_view kSummary = "transposed convolution, which enlarges its input";
  static constexpr std::string_view kAliases[] = {TransposedWordsOf(axes).alias};
  int64_t filters = 0;
  Sides kernel_size;
  Sides strides = 1;
  std::string padding = "valid";
  std::optional<std::variant<int64_t, std::vector<int64_t>>> output_padding;
  Sides dilation_rate = 1;  // of one or two axes
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
    const std::string_view sides = axes == 1 ? kSideHelp : axes == 2 ? kSidesHelp : kThreeSidesHelp;
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
    v("kernel_initializer", kernel_initializer, {.help = "initial values of the kernel"});
    v("bias_initializer", bias_initializer, {.help = "initial values of the bias"});
    v("kernel_regularizer", kernel_regularizer, {.help = "penalty on the kernel"});
    v("bias_regularizer", bias_regularizer, {.help = "penalty on the bias"});
    v("activity_regularizer", activity_regularizer, {.help = kActivityHelp});
    v("kernel_constraint", kernel_constraint,
      {.help = "limit on the kernel, applied after each update"});
    v("bias_constraint", bias_constraint, {.help = "limit on the bias, applied after each update"});
    VisitVariables(v, *this, TransposedWordsOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using Conv1DTranspose = TransposedConv<1>;
using Conv2DTranspose = TransposedConv<2>;
using Conv3DTranspose = TransposedConv<3>;

}  // namespace tpuest::nn
