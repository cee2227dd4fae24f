#pragma once
// Finds the layers of a model_fn's graph by what its nodes do: what tf.layers, Keras layers and
// tpuest's own make of dense, conv2d, pooling, batch_normalization, dropout and the rest.

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// The model's input before the first layer: x * scale + offset.
struct MigratedInput {
  std::string tensor;             // "IteratorGetNext:0"
  std::string dtype = "float32";  // dtype of the feature; "uint8", "int64"
  std::vector<int64_t> shape;     // shape of an example
  bool shape_known = false;
  int64_t batch_size = 0;  // 0: not known
  double scale = 1;
  double offset = 0;
};

struct MigratedLayers {
  std::vector<std::string> layers;  // YAML of each: "{type: dense, units: 10}"
  MigratedInput input;
  bool bfloat16 = false;
  int64_t width = 0;                 // width of the logits
  std::vector<std::string> unknown;  // a sentence on each thing that could not be found out
  // The reason why they are no row of layers, and the node; empty: they are one.
  std::string obstacle;
};

// The layers from the model's input to the value at an input of `end`. A graph that is not
// understood gives an `obstacle`.
[[nodiscard]] MigratedLayers FindLayers(const SeenGraph& graph, const BundleReader& variables,
                                        const SeenNode& end, size_t input);

}  // namespace tpuest::cli
