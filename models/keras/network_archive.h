#pragma once
// Writes a network of layers as a Keras model: config.json and variables of an archive that Keras
// 2.15 and Keras 3 load.

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/nn/layers/layers.h"
#include "models/keras/keras_archive.h"

namespace tpuest {

struct KerasNetworkInput {
  std::string name;
  Shape shape;  // of an example
  DType dtype = DType::kFloat;
};

// `layers` as core/nn/layers/network.h has built them into `graph`, which must have been empty, and
// the graph's variables.
struct KerasNetwork {
  const std::vector<nn::Layer>& layers;
  const Graph& graph;
  const std::map<std::string, Tensor>& variables;  // by name
  std::vector<KerasNetworkInput> inputs;           // inputs that layers may name
  std::vector<std::string> outputs;                // names of layers; empty: the last one
  std::string name = "model";
  KerasJson compile = nullptr;  // compile_config.h; null if it was not compiled
};

// Returns a layer's name without slashes, as archives need it.
[[nodiscard]] std::string KerasLayerName(std::string name);

// Nested models are flattened: their layers join the others, as "<model>_<layer>" if a name is
// taken; slashes in names, which Keras 3 does not allow, become underscores. Throws Error kUsage,
// with its place, for a layer that Keras lacks or that differs between the two versions.
[[nodiscard]] KerasArchive KerasArchiveOf(const KerasNetwork& network);

}  // namespace tpuest
