#pragma once
// Follows the elements of an input_fn's datasets back to the features that parsers name.

#include <string>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// The tensors that the iterator gives, as names of the features that they are ("" for one that is
// made of others, or by an op that is not followed): first those of the dict of features, in the
// order of their names, then the label. Empty: no parser's element reaches the iterator.
[[nodiscard]] std::vector<std::string> IteratorFeatures(const SeenGraph& graph);

// The dataset nodes from the iterator back to the source.
[[nodiscard]] std::vector<const SeenNode*> DatasetsOf(const SeenGraph& graph);

}  // namespace tpuest::cli
