#pragma once
// Activations by name: tf.keras.activations.

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The names that a job may use: "linear", "relu", ....
[[nodiscard]] const std::vector<std::string_view>& ActivationNames();

// The activation of x, of x's shape and dtype. Throws Error kUsage for a name that is not in the
// list.
[[nodiscard]] Value Activate(std::string_view activation, Value x);

}  // namespace tpuest::nn
