#pragma once
// Layers that act only in training: Keras' Dropout family, noise, and a penalty on activations.
// Their random numbers are a function of the run's seed, the layer's name, the global step and the
// element of the global batch.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/layers/draw.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

inline constexpr std::string_view kNoiseShapeHelp =
    "shape of the mask: an axis of 1 is dropped or kept as a whole; `null` takes the input's axis; "
    "[null, 1, 1, 1] drops whole examples";

// Drops elements at random (Srivastava et al. 2014): in training x / (1 - rate) where RandomUniform
// >= rate, otherwise 0; outside training x. Elements along an axis whose noise_shape is 1 are
// dropped together.
struct Dropout {
  static constexpr std::string_view kType = "dropout";
  static constexpr std::string_view kSummary = "sets random values to 0 in training";
  static constexpr std::string_view kAliases[] = {"Dropout"};
  double rate = 0.5;
  std::vector<std::optional<int64_t>> noise_shape;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "fraction of elements to drop, below 1"});
    v("noise_shape", noise_shape, {.help = kNoiseShapeHelp});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: dropout, dropout_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

[[nodiscard]] constexpr LayerType SpatialTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"spatial_dropout1d",
       {"SpatialDropout1D"},
       "name of the layer, which also seeds its random numbers; default: spatial_dropout1d, ..."},
      {"spatial_dropout2d",
       {"SpatialDropout2D"},
       "name of the layer, which also seeds its random numbers; default: spatial_dropout2d, ..."},
      {"spatial_dropout3d",
       {"SpatialDropout3D"},
       "name of the layer, which also seeds its random numbers; default: spatial_dropout3d, ..."}};
  return kTypes[axes - 1];
}

// Drops whole channels of [batch, ..., channels], which has 1, 2 or 3 axes in between.
template <int axes>
struct SpatialDropout {
  static constexpr std::string_view kType = SpatialTypeOf(axes).type;
  static constexpr std::string_view kSummary = "sets random channels to 0 in training";
  static constexpr std::string_view kAliases[] = {SpatialTypeOf(axes).aliases[0]};
  double rate = 0.5;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "fraction of channels to drop, below 1"});
    VisitSeed(v, *this);
    VisitName(v, *this, SpatialTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using SpatialDropout1D = SpatialDropout<1>;
using SpatialDropout2D = SpatialDropout<2>;
using SpatialDropout3D = SpatialDropout<3>;

// Drops a branch for random examples, so that a residual network is shallower for them (Huang et
// al. 2016), as ConvNeXt in tf.keras.applications does: Dropout with the noise_shape [null, 1,
// ...].
struct StochasticDepth {
  static constexpr std::string_view kType = "stochastic_depth";
  static constexpr std::string_view kSummary = "skips a branch for random examples in training";
  static constexpr std::string_view kAliases[] = {"StochasticDepth"};
  double drop_path_rate = 0.0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("drop_path_rate", drop_path_rate,
      {.help = "fraction of examples to drop, below 1", .required = true});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: stochastic_depth, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Adds normal numbers of mean 0 in training.
struct GaussianNoise {
  static constexpr std::string_view kType = "gaussian_noise";
  static constexpr std::string_view kSummary = "adds noise in training";
  static constexpr std::string_view kAliases[] = {"GaussianNoise"};
  double stddev = 0.0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("stddev", stddev, {.help = "standard deviation of the noise", .required = true});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: gaussian_noise, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Multiplies by normal numbers of mean 1 and variance rate / (1 - rate) in training.
struct GaussianDropout {
  static constexpr std::string_view kType = "gaussian_dropout";
  static constexpr std::string_view kSummary = "multiplies values by noise around 1 in training";
  static constexpr std::string_view kAliases[] = {"GaussianDropout"};
  double rate = 0.5;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("rate", rate,
      {.help = "rate of a dropout with the same variance, below 1", .required = true});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: gaussian_dropout, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Dropout that keeps mean and variance after a selu (Klambauer et al. 2017): dropped elements take
// selu's limit at minus infinity, and the result is scaled and shifted.
struct AlphaDropout {
  static constexpr std::string_view kType = "alpha_dropout";
  static constexpr std::string_view kSummary = "dropout that keeps mean and variance, for selu";
  static constexpr std::string_view kAliases[] = {"AlphaDropout"};
  double rate = 0.5;
  std::vector<std::optional<int64_t>> noise_shape;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "fraction of elements to drop, below 1", .required = true});
    v("noise_shape", noise_shape, {.help = kNoiseShapeHelp});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: alpha_dropout, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Returns x and adds the penalty (l1 * sum |x| + l2 * sum x^2) / batch size to the loss.
struct ActivityRegularization {
  static constexpr std::string_view kType = "activity_regularization";
  static constexpr std::string_view kSummary =
      "returns x unchanged and adds a penalty on its size to the loss";
  static constexpr std::string_view kAliases[] = {"ActivityRegularization"};
  double l1 = 0.0;
  double l2 = 0.0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("l1", l1, {.help = "factor of the sum of absolute values"});
    v("l2", l2, {.help = "factor of the sum of squares"});
    VisitName(v, *this, "name of the layer; default: activity_regularization, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
