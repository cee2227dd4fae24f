#pragma once
// The layers of a configuration and their calls. Private to this folder.

#include <string>
#include <vector>

#include "models/keras/config/values.h"

namespace tpuest {

// A tensor: the result of the `call`-th call of a layer; for a model, its output of that number.
struct KerasTensor {
  std::string layer;
  int call = 0;
  int output = 0;
};

// One use of a layer.
struct KerasCall {
  std::vector<KerasTensor> inputs;
  KerasJson keywords;  // keyword arguments that are not tensors
  KerasJson constant;  // the positional argument that is not a tensor; null if there is none
  bool constant_first = false;
};

struct KerasGraphLayer {
  std::string class_name;
  std::string name;
  KerasJson config;
  std::string place;          // "layers[12] 'lambda_1'"
  bool is_operation = false;  // in Keras 3: an operation in the list of layers
  std::vector<KerasCall> calls;
};

struct KerasGraph {
  std::vector<KerasGraphLayer> layers;
  std::vector<KerasTensor> inputs;  // of InputLayers
  std::vector<KerasTensor> outputs;
  // of a dict of outputs, in their order; empty if it is not a dict
  std::vector<std::string> output_names;
  bool is_sequential = false;
  // False for a Sequential without an InputLayer: its first layer takes the model's input.
  bool has_input_layer = true;
};

// Returns the graph of a model's configuration, {"class_name", "config"}. Throws KerasRefusal if it
// has no layers, or refers to layers or calls that do not exist.
[[nodiscard]] KerasGraph KerasGraphOf(const KerasJson& model);

}  // namespace tpuest
