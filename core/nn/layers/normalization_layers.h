#pragma once
// Normalizations without moving averages, and constant scales: Keras' LayerNormalization,
// GroupNormalization, UnitNormalization, Normalization and Rescaling.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// One axis or several.
using Axes = std::variant<int64_t, std::vector<int64_t>>;
// One number for all channels, or one for each.
using PerChannel = std::variant<double, std::vector<double>>;

// Normalizes each example over the axes (Ba et al. 2016): (x - mean) / sqrt(variance + epsilon) *
// gamma + beta. Variables gamma, beta of the axes' dimensions.
struct LayerNormalization {
  static constexpr std::string_view kType = "layer_normalization";
  static constexpr std::string_view kSummary =
      "scales each example to mean 0 and variance 1, then applies a trained scale and offset";
  static constexpr std::string_view kAliases[] = {"LayerNormalization"};
  Axes axis = int64_t{-1};
  double epsilon = 0.001;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = ZerosInitializer{};
  Initializer gamma_initializer = OnesInitializer{};
  Regularizer beta_regularizer;
  Regularizer gamma_regularizer;
  Constraint beta_constraint;
  Constraint gamma_constraint;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = "axes over which mean and variance are taken"});
    v("epsilon", epsilon, {.help = "added to the variance"});
    v("center", center, {.help = "`true` adds a trained beta"});
    v("scale", scale, {.help = "`true` multiplies by a trained gamma"});
    v("beta_initializer", beta_initializer, {.help = "initial values of beta"});
    v("gamma_initializer", gamma_initializer, {.help = "initial values of gamma"});
    v("beta_regularizer", beta_regularizer, {.help = "penalty on beta"});
    v("gamma_regularizer", gamma_regularizer, {.help = "penalty on gamma"});
    v("beta_constraint", beta_constraint, {.help = "limit on beta, applied after each update"});
    v("gamma_constraint", gamma_constraint, {.help = "limit on gamma, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: layer_normalization, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Normalizes each example over groups of channels (Wu & He 2018) of [batch, ..., channels].
// `groups` -1: each channel is a group. Variables gamma, beta [channels].
struct GroupNormalization {
  static constexpr std::string_view kType = "group_normalization";
  static constexpr std::string_view kSummary =
      "scales groups of channels of each example to mean 0 and variance 1";
  static constexpr std::string_view kAliases[] = {"GroupNormalization"};
  int64_t groups = 32;
  int64_t axis = -1;
  double epsilon = 0.001;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = ZerosInitializer{};
  Initializer gamma_initializer = OnesInitializer{};
  Regularizer beta_regularizer;
  Regularizer gamma_regularizer;
  Constraint beta_constraint;
  Constraint gamma_constraint;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("groups", groups, {.help = "number of channel groups; -1 makes each channel a group"});
    v("axis", axis, {.help = "axis of the channels"});
    v("epsilon", epsilon, {.help = "added to the variance"});
    v("center", center, {.help = "`true` adds a trained beta"});
    v("scale", scale, {.help = "`true` multiplies by a trained gamma"});
    v("beta_initializer", beta_initializer, {.help = "initial values of beta"});
    v("gamma_initializer", gamma_initializer, {.help = "initial values of gamma"});
    v("beta_regularizer", beta_regularizer, {.help = "penalty on beta"});
    v("gamma_regularizer", gamma_regularizer, {.help = "penalty on gamma"});
    v("beta_constraint", beta_constraint, {.help = "limit on beta, applied after each update"});
    v("gamma_constraint", gamma_constraint, {.help = "limit on gamma, applied after each update"});
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: group_normalization, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value given) const;
};

// Scales the length along the axes to 1: x / sqrt(max(sum(x^2), 1e-12)).
struct UnitNormalization {
  static constexpr std::string_view kType = "unit_normalization";
  static constexpr std::string_view kSummary = "scales vectors along an axis to length 1";
  static constexpr std::string_view kAliases[] = {"UnitNormalization"};
  Axes axis = int64_t{-1};
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = "axes that form a vector"});
    VisitName(v, *this, "name of the layer; default: unit_normalization, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// (x - mean) / max(sqrt(variance), 1e-7), with given numbers, one for all or one per position on
// the last of `axis`; or with its variables mean, variance (of the axes' dimensions) and count
// (int64 []), which are not trained and come from a file. Without axes there is one mean and one
// variance.
struct Normalization {
  static constexpr std::string_view kType = "normalization";
  static constexpr std::string_view kSummary =
      "subtracts a given mean and divides by the square root of a given variance";
  static constexpr std::string_view kAliases[] = {"Normalization"};
  std::optional<Axes> axis = int64_t{-1};
  std::optional<PerChannel> mean;
  std::optional<PerChannel> variance;
  bool invert = false;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = "axes with one mean and variance per index; `null` has one for all"});
    v("mean", mean, {.help = "mean: one number, or one per channel; `null` makes it a variable"});
    v("variance", variance,
      {.help = "variance: one number, or one per channel; `null` makes it a variable"});
    v("invert", invert, {.help = "`true` converts normalized numbers back"});
    VisitName(v, *this, "name of the layer and of its variables; default: normalization, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Multiplies each channel by a trained number that starts small (Touvron et al. 2021), as ConvNeXt
// in tf.keras.applications does. Variable gamma [channels].
struct LayerScale {
  static constexpr std::string_view kType = "layer_scale";
  static constexpr std::string_view kSummary = "a trained factor per channel";
  static constexpr std::string_view kAliases[] = {"LayerScale"};
  double init_values = 1e-6;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("init_values", init_values, {.help = "initial value of every factor"});
    VisitVariables(v, *this, "name of the layer and of its variables; default: layer_scale, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// x * scale + offset.
struct Rescaling {
  static constexpr std::string_view kType = "rescaling";
  static constexpr std::string_view kSummary = "x * scale + offset";
  static constexpr std::string_view kAliases[] = {"Rescaling"};
  PerChannel scale = 1.0;
  PerChannel offset = 0.0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("scale", scale, {.help = "factor: one number, or one per channel", .required = true});
    v("offset", offset, {.help = "number to add: one, or one per channel"});
    VisitName(v, *this, "name of the layer; default: rescaling, rescaling_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
