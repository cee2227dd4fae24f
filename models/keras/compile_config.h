#pragma once
// The arguments of Model.compile, in the form in which archives store them.

#include <map>
#include <optional>
#include <string>

#include "core/nn/heads/keras_head.h"
#include "core/nn/optimizers/keras_optimizers.h"
#include "core/nn/optimizers/optimizers.h"
#include "models/keras/keras_json.h"

namespace tpuest {

// Returns the `compile_config` of a head and an optimizer: losses and metrics are objects of Keras'
// classes, for several outputs a dict by output name; `layers` has the names of the layers that
// make the outputs if they differ. Returns nullopt if Keras cannot express something, which
// `obstacle` then names: a rate with tpuest's warm-up, or in epochs.
[[nodiscard]] std::optional<KerasJson> CompileConfigOf(
    const nn::KerasHead& head, const nn::KerasOptimizer& optimizer,
    const std::map<std::string, std::string>& layers, std::string& obstacle);

// Returns the Keras optimizer that makes the same steps as one of tf.train. nullopt if there is
// none: RMSProp, whose squares start at 1, LARS and weight decay, momentum with a changing rate,
// averages of variables or of several steps' gradients, and a sum over replicas.
[[nodiscard]] std::optional<nn::KerasOptimizer> KerasOptimizerLike(
    const nn::AnyOptimizer& optimizer);

}  // namespace tpuest
