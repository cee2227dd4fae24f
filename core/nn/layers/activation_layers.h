#pragma once
// Activations as layers, element by element except softmax: Keras' Activation, ReLU, LeakyReLU,
// ELU, PReLU, Softmax and ThresholdedReLU.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/activations.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// An activation by name; keeps the shape.
struct ActivationLayer {
  static constexpr std::string_view kType = "activation";
  static constexpr std::string_view kSummary = "applies a function to each value, by name";
  static constexpr std::string_view kAliases[] = {"Activation"};
  std::string activation = "linear";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("activation", activation,
      {.help = "name of the function", .required = true, .values = ActivationNames()});
    VisitName(v, *this, "name of the layer; default: activation, activation_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// max_value for x >= max_value, x from threshold to max_value, and negative_slope * (x - threshold)
// below threshold.
struct ReLU {
  static constexpr std::string_view kType = "re_lu";
  static constexpr std::string_view kSummary =
      "max(x, 0), with an optional slope below and an upper limit";
  static constexpr std::string_view kAliases[] = {"ReLU"};
  std::optional<double> max_value;
  double negative_slope = 0.0;
  double threshold = 0.0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("max_value", max_value, {.help = "upper limit; `null` sets none"});
    v("negative_slope", negative_slope, {.help = "slope below the threshold"});
    v("threshold", threshold, {.help = "value above which x is unchanged"});
    VisitName(v, *this, "name of the layer; default: re_lu, re_lu_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// x if x is positive, otherwise alpha * x; Keras 3 calls alpha negative_slope.
struct LeakyReLU {
  static constexpr std::string_view kType = "leaky_re_lu";
  static constexpr std::string_view kSummary = "x above 0, alpha * x below";
  static constexpr std::string_view kAliases[] = {"LeakyReLU"};
  double alpha = 0.3;
  std::optional<double> negative_slope;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("alpha", alpha, {.help = "slope below 0"});
    v("negative_slope", negative_slope, {.help = "Keras 3's name of alpha; `null` uses alpha"});
    VisitName(v, *this, "name of the layer; default: leaky_re_lu, leaky_re_lu_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// x if x is positive, otherwise alpha * (exp(x) - 1) (Clevert et al. 2016).
struct ELU {
  static constexpr std::string_view kType = "elu";
  static constexpr std::string_view kSummary = "x above 0, alpha * (exp(x) - 1) below";
  static constexpr std::string_view kAliases[] = {"ELU"};
  double alpha = 1.0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("alpha", alpha, {.help = "limit of the value far below 0 is -alpha"});
    VisitName(v, *this, "name of the layer; default: elu, elu_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// x if x is positive, otherwise alpha * x with a trained alpha (He et al. 2015). Variable alpha, of
// an example's shape with size 1 on shared_axes.
struct PReLU {
  static constexpr std::string_view kType = "p_re_lu";
  static constexpr std::string_view kSummary = "x above 0; below 0, x times a trained slope";
  static constexpr std::string_view kAliases[] = {"PReLU"};
  Initializer alpha_initializer = ZerosInitializer{};
  Regularizer alpha_regularizer;
  Constraint alpha_constraint;
  std::vector<int64_t> shared_axes;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("alpha_initializer", alpha_initializer, {.help = "initial values of alpha"});
    v("alpha_regularizer", alpha_regularizer, {.help = "penalty on alpha"});
    v("alpha_constraint", alpha_constraint, {.help = "limit on alpha, applied after each update"});
    v("shared_axes", shared_axes, {.help = "axes of the input that share one alpha"});
    VisitVariables(v, *this, "name of the layer and of its variables; default: p_re_lu, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// exp(x) divided by its sum along the axes.
struct SoftmaxLayer {
  static constexpr std::string_view kType = "softmax";
  static constexpr std::string_view kSummary =
      "scales values over an axis to positive shares that sum to 1";
  static constexpr std::string_view kAliases[] = {"Softmax"};
  std::variant<int64_t, std::vector<int64_t>> axis = int64_t{-1};
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = "axis, or list of axes, over which the result sums to 1"});
    VisitName(v, *this, "name of the layer; default: softmax, softmax_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// x if x is greater than theta, otherwise 0.
struct ThresholdedReLU {
  static constexpr std::string_view kType = "thresholded_re_lu";
  static constexpr std::string_view kSummary = "x above theta, 0 below";
  static constexpr std::string_view kAliases[] = {"ThresholdedReLU"};
  double theta = 1.0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("theta", theta, {.help = "value above which x is unchanged"});
    VisitName(v, *this, "name of the layer; default: thresholded_re_lu, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
