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
    {.help = "layers with one seed draw the same numbers (masks of one shape are alike); null: "
             "numbers of its own; tf_random_seed counts in both cases"});
}

// float32 of x's shape: uniform in [0, 1), or normal of mean 0 and variance 1. `draw` numbers the
// draws of one layer, so that they differ.
[[nodiscard]] Value DrawUniform(Value like, const Seed& seed, int64_t draw = 0);
[[nodiscard]] Value DrawNormal(Value like, const Seed& seed);

}  // namespace tpuest::nn
