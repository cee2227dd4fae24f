#pragma once
// The Keras class and arguments of a layer.

#include <string>

#include "core/nn/layers/layers.h"
#include "models/keras/keras_json.h"

namespace tpuest {

struct KerasLayerConfig {
  std::string class_name;  // "Conv2D"
  KerasJson config;        // its arguments, without its name and initial values
};

// Throws Error kUsage at the layer's place, as KerasArchiveOf does.
[[nodiscard]] KerasLayerConfig KerasConfigOf(const nn::Layer& layer);

}  // namespace tpuest
