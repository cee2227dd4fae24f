#include "core/graph/write/tables.h"

#include <algorithm>

namespace tpuest {
namespace {

bool IsTable(const Node& node) { return node.type() == "HashTableV2"; }

}  // namespace

bool IsSameTable(const Node& a, const Node& b) {
  if (&a == &b) return true;
  if (!IsTable(a) || !IsTable(b)) return false;
  // Two nodes with one shared_name are one resource of the session; without a name each is its own.
  const auto& name = a.Attr<std::string>("shared_name");
  return !name.empty() && name == b.Attr<std::string>("shared_name") &&
         a.Attr<std::string>("container") == b.Attr<std::string>("container");
}

// The first in the graph's order, so the answer does not depend on who asks.
const Node* FindTableInitializer(const Value& handle) {
  const auto& nodes = handle.graph().nodes();
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) {
    return InitializesTable(node->op()) && IsSameTable(*node->input(0).node, *handle.node);
  });
  return found == nodes.end() ? nullptr : found->get();
}

std::vector<Node*> TableInitializers(const Graph& graph, const std::vector<char>& nodes) {
  const auto is_among = [&](const Node& node) {
    return nodes.empty() || nodes[static_cast<size_t>(node.id())] != 0;
  };
  std::vector<Node*> initializers;
  for (const auto& node : graph.nodes()) {
    if (!InitializesTable(node->op())) continue;
    const Node& table = *node->input(0).node;
    // Quadratic, in graphs of a few tables.
    const bool needed = std::any_of(
        graph.nodes().begin(), graph.nodes().end(),
        [&](const auto& other) { return is_among(*other) && IsSameTable(*other, table); });
    if (needed) initializers.push_back(node.get());
  }
  return initializers;
}

}  // namespace tpuest
