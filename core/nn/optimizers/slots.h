#pragma once
// Variables that optimizers keep besides the trained ones.

#include <string>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Returns the variable of this name, not trainable. Makes it with `initial` in every element if it
// does not exist.
[[nodiscard]] Variable& GetOrCreateSlot(Graph& graph, const std::string& name, DType dtype,
                                        const Shape& shape, double initial);

}  // namespace tpuest::nn
