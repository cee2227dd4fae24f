#pragma once
// Computes numbers of an old Estimator's graph that follow from its constants.

#include <optional>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// The scalar at an input of a node, computed in float64 from constants by sums, differences,
// products, quotients, smallest, largest and casts; nullopt: it is no such number.
[[nodiscard]] std::optional<double> ScalarAt(const SeenGraph& graph, const SeenNode& node,
                                             size_t input);

}  // namespace tpuest::cli
