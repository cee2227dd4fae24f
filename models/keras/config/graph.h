#pragma once
// The layers of a configuration and how they call each other. For this folder alone.

#include <string>
#include <vector>

#include "models/keras/config/values.h"

namespace tpuest {

// A tensor: what the `call`-th call of a layer gives; of a model, its output of that number.
struct KerasTensor {
  std::string layer;
  int call = 0;
  int output = 0;
};

// One use of a layer.
struct KerasCall {
  std::vector<KerasTensor> inputs;
  KerasJson keywords;  // arguments by name, tensors aside
  KerasJson constant;  // the argument in a row that is no tensor; null: there is none
  bool constant_first = false;
};

struct KerasGraphLayer {
  std::string class_name;
  std::string name;
  KerasJson config;
  std::string place;          // "layers[12] 'lambda_1'"
  bool is_operation = false;  // of Keras 3: it stands among layers and is none
  std::vector<KerasCall> calls;
};

struct KerasGraph {
  std::vector<KerasGraphLayer> layers;
  std::vector<KerasTensor> inputs;  // of InputLayers
  std::vector<KerasTensor> outputs;
  std::vector<std::string> output_names;  // of a dict of outputs, in their order; empty: no dict
  bool is_sequential = false;
  // A Sequential without an InputLayer: its first layer takes what the model is given.
  bool has_input_layer = true;
};

// The graph of a model's configuration, {"class_name", "config"}. Throws KerasRefusal for one that
// has no layers, or refers to layers or calls that there are not.
[[nodiscard]] KerasGraph KerasGraphOf(const KerasJson& model);

}  // namespace tpuest
