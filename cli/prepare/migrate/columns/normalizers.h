#pragma once
// Writes what an old Estimator's graph computes of a feature as a formula of x: the normalizer_fn
// of a numeric column.

#include <string>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

struct MigratedFormula {
  std::string text;                    // "log1p(x)"; "x" for the feature as it is
  std::string source = {};             // the tensor of the feature: "IteratorGetNext:2"
  const SeenNode* obstacle = nullptr;  // the node that no formula says; nullptr: `text` holds
};

// The formula of a tensor that is made of one feature and constants.
[[nodiscard]] MigratedFormula FindFormula(const SeenGraph& graph, const std::string& tensor);

}  // namespace tpuest::cli
