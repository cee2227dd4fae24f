#pragma once
// Layers as a graph: each takes what inputs and layers above it give, by name. "@12" is the layer
// of that number in the list, from 0, and "input" the only input, where nothing else has that name.

#include <map>
#include <string>
#include <vector>

#include "core/nn/layers/layers.h"

namespace tpuest::nn {

// The tensors that a network starts from.
struct NetworkInputs {
  std::map<std::string, Value> named;
  // What a layer at the head takes that names no inputs; not valid(): it must name them.
  Value only;
};

// What the layers of a network give.
struct NetworkOutputs {
  std::map<std::string, Value> by_name;  // of layers with a name, given or counted
  Value last;                            // of the last layer
};

// Applies the layers in their order. A layer whose context shares variables, SharedLayer and
// NestedModel are at home here alone. Throws Error kUsage, at the layer's place, for a name that no
// input and no layer above has, for one that two layers have, and for what a layer refuses.
[[nodiscard]] NetworkOutputs ApplyLayers(const std::vector<Layer>& layers, LayerContext& context,
                                         const NetworkInputs& inputs);

// Throws Error kUsage unless an input is [batch] + `shape`, in which -1 is any side; [] is any
// shape.
void CheckInputShape(const std::vector<int64_t>& shape, const NetworkInputs& inputs);

// The output of that name; the error of another names the nearest. `what` says who asks:
// "model.outputs".
[[nodiscard]] Value OutputNamed(const NetworkOutputs& outputs, const std::string& name,
                                const std::string& what);

}  // namespace tpuest::nn
