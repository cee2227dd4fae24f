#pragma once
// Finds batch normalization and dropout in a model_fn's graph: each is made of several nodes.

#include <optional>
#include <string>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

struct MigratedNormalization {
  std::string text;                 // "{type: batch_normalization, momentum: 0.9, name: bn}"
  std::string unknown;              // a sentence on what could not be found out; empty: all was
  std::string obstacle;             // the reason why it is no layer; empty: it is one
  const SeenNode* first = nullptr;  // the node that takes the layer's input
  size_t input = 0;                 // index of the layer's input among its inputs
};

// The normalization that ends in this node: FusedBatchNorm, or the sum of
// tf.nn.batch_normalization. nullopt: none does.
[[nodiscard]] std::optional<MigratedNormalization> FindNormalization(const SeenGraph& graph,
                                                                     const SeenNode& node);

struct MigratedDropout {
  std::string layer;           // "dropout_1"
  std::optional<double> rate;  // nullopt: not known
  const SeenNode* first = nullptr;
  size_t input = 0;
};

// The dropout that ends in this node: a product with a random mask, or a choice by it. nullopt:
// none does.
[[nodiscard]] std::optional<MigratedDropout> FindDropout(const SeenGraph& graph,
                                                         const SeenNode& node);

}  // namespace tpuest::cli
