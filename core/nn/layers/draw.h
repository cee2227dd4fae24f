#pragma once
// What layers draw at random in training: a function of (run's seed, layer's name, global step,
// element of the global batch), or, for a layer with a seed of its own, of that in place of the
// name.

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Layers with one seed draw the same numbers in a run; nullopt: numbers of the layer's own.
using Seed = std::optional<int64_t>;

template <class V, class Layer>
void VisitSeed(V& v, Layer& layer) {
  v("seed", layer.seed,
    {.help = "seed of the random numbers; layers with the same seed draw the same numbers, such as "
             "masks of one shape; `null` gives each layer its own; both depend on tf_random_seed"});
}

// float32 of x's shape: uniform in [0, 1), or normal of mean 0 and variance 1. `draw` numbers the
// draws of one layer, so that they differ.
[[nodiscard]] Value DrawUniform(Value like, const Seed& seed, int64_t draw = 0);
[[nodiscard]] Value DrawNormal(Value like, const Seed& seed);

}  // namespace tpuest::nn
