#pragma once
// A fully connected layer: tf.layers.dense.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/nn/activations.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// y = activation(x kernel + bias) over the last axis: x [..., n] -> [..., units]. Variables kernel
// [n, units], bias [units].
struct Dense {
  static constexpr std::string_view kType = "dense";
  static constexpr std::string_view kSummary =
      "connects every output to every input: x * kernel + bias, then the activation";
  static constexpr std::string_view kAliases[] = {"Dense"};
  int64_t units = 0;
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
    v("units", units, {.help = "number of outputs", .required = true});
    VisitActivation(v, *this);
    VisitKernelAndBias(v, *this);
    VisitVariables(v, *this,
                   "name of the layer and of its variables; default: dense, dense_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
