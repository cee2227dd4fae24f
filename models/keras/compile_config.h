#pragma once
// What Model.compile said of a model, as archives keep it.

#include <map>
#include <optional>
#include <string>

#include "core/nn/heads/keras_head.h"
#include "core/nn/optimizers/keras_optimizers.h"
#include "models/keras/keras_json.h"

namespace tpuest {

// The `compile_config` of a head and an optimizer: losses and metrics are objects of Keras'
// classes, those of several outputs a dict by their names; `layers` has the names of the layers
// that make the outputs where they are others. nullopt where Keras has no word for something: a
// rate with a warm-up, or in epochs.
[[nodiscard]] std::optional<KerasJson> CompileConfigOf(
    const nn::KerasHead& head, const nn::KerasOptimizer& optimizer,
    const std::map<std::string, std::string>& layers);

}  // namespace tpuest
