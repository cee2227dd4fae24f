#pragma once
// What Model.compile said of a model, as archives keep it.

#include <map>
#include <optional>
#include <string>

#include "core/nn/heads/keras_head.h"
#include "core/nn/optimizers/keras_optimizers.h"
#include "core/nn/optimizers/optimizers.h"
#include "models/keras/keras_json.h"

namespace tpuest {

// The `compile_config` of a head and an optimizer: losses and metrics are objects of Keras'
// classes, those of several outputs a dict by their names; `layers` has the names of the layers
// that make the outputs where they are others. nullopt where Keras has no word for something, which
// `obstacle` then names: a rate with a warm-up of tpuest's, or in epochs.
[[nodiscard]] std::optional<KerasJson> CompileConfigOf(
    const nn::KerasHead& head, const nn::KerasOptimizer& optimizer,
    const std::map<std::string, std::string>& layers, std::string& obstacle);

// Keras' optimizer that makes the same steps as one of tf.train. nullopt where there is none:
// RMSProp, whose squares begin at 1, LARS and weight decay, a momentum whose rate changes, averages
// of variables or gradients of several steps, a sum over replicas.
[[nodiscard]] std::optional<nn::KerasOptimizer> KerasOptimizerLike(
    const nn::AnyOptimizer& optimizer);

}  // namespace tpuest
