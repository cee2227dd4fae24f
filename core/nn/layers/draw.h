#pragma once
// What layers draw at random in training: a function of (run's seed, layer's name, global step,
// element of the global batch), and of the layer's own seed.

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace tpuest::nn {

// A layer with another seed draws other numbers from the same run; nullopt: the run's seed says
// all.
using Seed = std::optional<int64_t>;

template <class V, class Layer>
void VisitSeed(V& v, Layer& layer) {
  v("seed", layer.seed,
    {.help = "another number draws other values; the run's tf_random_seed counts as well"});
}

// float32 of x's shape: uniform in [0, 1), or normal of mean 0 and variance 1.
[[nodiscard]] Value DrawUniform(Value like, const Seed& seed);
[[nodiscard]] Value DrawNormal(Value like, const Seed& seed);

}  // namespace tpuest::nn
