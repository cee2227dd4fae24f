#pragma once
// Variables that optimizers keep beside the trained ones.

#include <string>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The variable of this name, not trainable; made with `initial` in every element if there is none.
[[nodiscard]] Variable& GetOrCreateSlot(Graph& graph, const std::string& name, DType dtype,
                                        const Shape& shape, double initial);

}  // namespace tpuest::nn
