#pragma once
// Batch normalization over all axes except the channels: tf.layers.batch_normalization.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Normalizes x [batch, ..., channels] (Ioffe & Szegedy 2015); the channels may be on another axis.
// Training uses the statistics of the replica's batch, or of all replicas' batches (synchronized).
// The moving averages follow them, moving -= (moving - batch) * (1 - momentum), with the batch
// statistics averaged over replicas. Outside training, and if gamma and beta are not trained, the
// layer uses the moving averages. Variables gamma, beta, moving_mean, moving_variance [channels].
// As in TensorFlow, the moving variance of an image [batch, height, width, channels] follows the
// unbiased variance, but that of other ranks and of synchronized layers the biased one. Apply
// throws Error kUsage for another rank.
struct BatchNormalization {
  static constexpr std::string_view kType = "batch_normalization";
  static constexpr std::string_view kSummary =
      "scales each channel to mean 0 and variance 1 over the replica's batch; moving averages "
      "outside training";
  static constexpr std::string_view kAliases[] = {"BatchNormalization"};
  std::variant<int64_t, std::vector<int64_t>> axis = int64_t{-1};
  double momentum = 0.99;
  double epsilon = 0.001;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = ZerosInitializer{};
  Initializer gamma_initializer = OnesInitializer{};
  Initializer moving_mean_initializer = ZerosInitializer{};
  Initializer moving_variance_initializer = OnesInitializer{};
  Regularizer beta_regularizer;
  Regularizer gamma_regularizer;
  Constraint beta_constraint;
  Constraint gamma_constraint;
  bool synchronized = false;
  bool trainable = true;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = "axis of the channels"});
    v("momentum", momentum, {.help = "decay of the moving averages"});
    v("epsilon", epsilon, {.help = "added to the variance"});
    v("center", center, {.help = "`true` adds a trained beta"});
    v("scale", scale, {.help = "`true` multiplies by a trained gamma"});
    v("beta_initializer", beta_initializer, {.help = "initial values of beta"});
    v("gamma_initializer", gamma_initializer, {.help = "initial values of gamma"});
    v("moving_mean_initializer", moving_mean_initializer,
      {.help = "initial values of the moving mean"});
    v("moving_variance_initializer", moving_variance_initializer,
      {.help = "initial values of the moving variance"});
    v("beta_regularizer", beta_regularizer, {.help = "penalty on beta"});
    v("gamma_regularizer", gamma_regularizer, {.help = "penalty on gamma"});
    v("beta_constraint", beta_constraint, {.help = "limit on beta, applied after each update"});
    v("gamma_constraint", gamma_constraint, {.help = "limit on gamma, applied after each update"});
    v("synchronized", synchronized,
      {.help = "`true` takes mean and variance over all replicas' examples; `false` over each "
               "replica's own"});
    v("trainable", trainable, {.help = "`false` freezes the layer and runs it in inference mode"});
    VisitName(v, *this,
              "name of the layer and of its variables; default: batch_normalization, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value given) const;
};

}  // namespace tpuest::nn
