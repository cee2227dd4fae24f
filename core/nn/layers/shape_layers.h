#pragma once
// Layers without variables: flatten, reshape, transpose, dropout, activation.

#include <cstdint>
#include <string>
#include <vector>

#include "core/nn/activations.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Makes one axis of all but the batch: [batch, ...] -> [batch, product of the others].
struct Flatten {
  static constexpr std::string_view kType = "flatten";
  static constexpr std::string_view kAliases[] = {"Flatten"};
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = "default: flatten, flatten_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Gives each example another shape: [batch, ...] -> [batch] + shape. One dimension may be -1: what
// the others leave.
struct Reshape {
  static constexpr std::string_view kType = "reshape";
  static constexpr std::string_view kAliases[] = {"Reshape"};
  std::vector<int64_t> shape;
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("shape", shape, {.help = "of an example, without the batch", .required = true});
    v("name", name, {.help = "default: reshape, reshape_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// tf.transpose, the batch included: axis i is axis perm[i] of the input. For a model whose inputs
// have their batch elsewhere (TPUEstimator's batch_axis).
struct Transpose {
  static constexpr std::string_view kType = "transpose";
  std::vector<int64_t> perm;
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("perm", perm,
      {.help = "for each axis, the input's that it is, the batch counted; [3, 0, 1, 2]: images of "
               "batch_axis 3 to NHWC",
       .required = true,
       .tpuest = true});
    v("name", name, {.help = "default: transpose, transpose_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Drops elements at random (Srivastava et al. 2014): in training x / (1 - rate) where RandomUniform
// >= rate, else 0; otherwise x. The mask is a function of (run's seed, layer's name, global step,
// element of the global batch).
struct Dropout {
  static constexpr std::string_view kType = "dropout";
  static constexpr std::string_view kAliases[] = {"Dropout"};
  double rate = 0.5;
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "fraction of elements dropped, below 1"});
    v("name", name, {.help = "of its mask; default: dropout, dropout_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// An activation as a layer of its own; the shape stays.
struct ActivationLayer {
  static constexpr std::string_view kType = "activation";
  static constexpr std::string_view kAliases[] = {"Activation"};
  std::string activation = "linear";
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("activation", activation,
      {.help = "which one", .required = true, .values = ActivationNames()});
    v("name", name, {.help = "default: activation, activation_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
