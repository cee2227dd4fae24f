#pragma once
// What Keras calls a layer, and its arguments in Keras' words.

#include <string>

#include "core/nn/layers/layers.h"
#include "models/keras/keras_json.h"

namespace tpuest {

struct KerasLayerConfig {
  std::string class_name;  // "Conv2D"
  KerasJson config;        // its arguments but for its name and its first values
};

// Error kUsage at the layer's place, as KerasArchiveOf's.
[[nodiscard]] KerasLayerConfig KerasConfigOf(const nn::Layer& layer);

}  // namespace tpuest
