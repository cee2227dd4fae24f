#pragma once
// Numbers of an old Estimator's graph that follow from its constants.

#include <optional>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// The scalar at an input of a node, computed in float64 where it is a sum, difference, product,
// quotient, largest or smallest of constants, or one that is cast; nullopt: it is none.
[[nodiscard]] std::optional<double> ScalarAt(const SeenGraph& graph, const SeenNode& node,
                                             size_t input);

}  // namespace tpuest::cli
