#pragma once
// Layers as a graph: each takes the outputs of inputs and earlier layers by name. "@12" is the
// layer of that index in the list, from 0; "input" is the only input, unless something else has
// that name.

#include <map>
#include <string>
#include <vector>

#include "core/nn/layers/layers.h"

namespace tpuest::nn {

// The tensors that a network starts from.
struct NetworkInputs {
  std::map<std::string, Value> named;
  // The input of a first layer that names no inputs; not valid() if it must name them.
  Value only;
};

// The outputs of the layers of a network.
struct NetworkOutputs {
  std::map<std::string, Value> by_name;  // of layers whose names are given or counted
  Value last;                            // of the last layer
};

// Applies the layers in their order. Only this function handles SharedLayer, NestedModel and a
// context that shares variables. Throws Error kUsage, at the layer's place, for an input that names
// no input and no earlier layer, for a name that two layers have, and for errors of a layer.
[[nodiscard]] NetworkOutputs ApplyLayers(const std::vector<Layer>& layers, LayerContext& context,
                                         const NetworkInputs& inputs);

// Throws Error kUsage unless an input is [batch] + `shape`, in which -1 matches any size; []
// matches any shape.
void CheckInputShape(const std::vector<int64_t>& shape, const NetworkInputs& inputs);

// Returns the output of that name; the error for an unknown name suggests the nearest. `what` says
// who asks: "model.outputs".
[[nodiscard]] Value OutputNamed(const NetworkOutputs& outputs, const std::string& name,
                                const std::string& what);

}  // namespace tpuest::nn
