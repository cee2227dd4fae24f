#pragma once
// Random numbers of layers in training: a function of the run's seed, the layer's name, the global
// step and the element of the global batch; a layer with its own seed uses that instead of its
// name.

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Layers with the same seed draw the same numbers in a run; nullopt: the layer's name makes them
// differ.
using Seed = std::optional<int64_t>;

template <class V, class Layer>
void VisitSeed(V& v, Layer& layer) {
  v("seed", layer.seed,
    {.help = "seed of the random numbers; layers with the same seed draw the same numbers, such as "
             "masks of one shape; `null` gives each layer its own; both depend on tf_random_seed"});
}

// Returns float32 of x's shape: uniform in [0, 1), or normal with mean 0 and variance 1. `draw`
// numbers the draws of one layer, so that they differ.
[[nodiscard]] Value DrawUniform(Value like, const Seed& seed, int64_t draw = 0);
[[nodiscard]] Value DrawNormal(Value like, const Seed& seed);

}  // namespace tpuest::nn
