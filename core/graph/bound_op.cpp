#include "core/graph/bound_op.h"

#include <algorithm>

#include "core/graph/cut.h"

namespace tpuest {

bool IsSizedByValues(const std::vector<Value>& fetches, const std::vector<Node*>& targets) {
  if (fetches.empty() && targets.empty()) return false;
  const Graph& graph = fetches.empty() ? targets.front()->graph() : fetches.front().graph();
  // A node that nobody fetches may have any size: it is never compiled.
  const std::vector<char> needed = NeededNodes(graph, fetches, targets, {});
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) {
    return needed[static_cast<size_t>(node->id())] != 0 && node->op().bind != nullptr &&
           !node->op().bind(*node).sized_by_values.empty();
  });
}

}  // namespace tpuest
