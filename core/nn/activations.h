#pragma once
// Activations by name: tf.keras.activations.

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The activation names that a job may use: "linear", "relu", ....
[[nodiscard]] const std::vector<std::string_view>& ActivationNames();

// Applies the named activation to x; the result has x's shape and dtype. Throws Error kUsage for a
// name that ActivationNames() does not list.
[[nodiscard]] Value Activate(std::string_view activation, Value x);

}  // namespace tpuest::nn
