#pragma once
// A network of layers as a model of Keras: config.json and variables of an archive that Keras 2.15
// and Keras 3 load.

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

// `layers` as core/nn/layers/network.h has built them, first of all, into `graph`, and the graph's
// variables.
struct KerasNetwork {
  const std::vector<nn::Layer>& layers;
  const Graph& graph;
  const std::map<std::string, Tensor>& variables;  // by name
  std::vector<KerasNetworkInput> inputs;           // that layers may name
  std::vector<std::string> outputs;                // names of layers; none: the last one
  std::string name = "model";
  KerasJson compile = nullptr;  // compile_config.h; null: it was not compiled
};

// A layer's name as archives have it, without slashes.
[[nodiscard]] std::string KerasLayerName(std::string name);

// Models that are layers are written out: their layers stand among the others, as "<model>_<layer>"
// where a name is there before; slashes in names, which Keras 3 has not, become underscores. Error
// kUsage, with its place, for a layer that Keras has not or that means something else in one of the
// two.
[[nodiscard]] KerasArchive KerasArchiveOf(const KerasNetwork& network);

}  // namespace tpuest
