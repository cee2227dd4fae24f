#pragma once
// The layers of a model_fn's graph, recognised by what its nodes do: what tf.layers, Keras layers
// and tpuest's own make of dense, conv2d, pooling, batch_normalization, dropout and the rest.

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// What the model does to its input before the first layer: x * scale + offset.
struct MigratedInput {
  std::string dtype = "float32";  // of the feature; "uint8", "int64"
  std::vector<int64_t> shape;     // of an example
  bool shape_known = false;
  int64_t batch_size = 0;  // 0: not known
  double scale = 1;
  double offset = 0;
};

struct MigratedLayers {
  std::vector<std::string> layers;  // YAML of each: "{type: dense, units: 10}"
  MigratedInput input;
  bool bfloat16 = false;
  int64_t width = 0;                 // of the logits
  std::vector<std::string> unknown;  // what could not be found out, a sentence each
  // Why they are no row of layers, and where; empty: they are.
  std::string obstacle;
};

// Those from the model's input to what comes in at an input of `end`.
[[nodiscard]] MigratedLayers FindLayers(const SeenGraph& graph, const BundleReader& variables,
                                        const SeenNode& end, size_t input);

}  // namespace tpuest::cli
