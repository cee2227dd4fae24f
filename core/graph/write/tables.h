#pragma once
// Lookup tables in a graph: a HashTableV2 is a handle, and one node fills the table. TensorFlow
// runs that node once per session; tpuest finds it when a lookup is compiled.

#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

// True if the op fills the table of input 0.
[[nodiscard]] inline bool InitializesTable(const OpDef& op) { return op.writes && op.host; }

// True if both are handles of one table: the same node, or the same shared_name.
[[nodiscard]] bool IsSameTable(const Node& a, const Node& b);

// Returns the first node that fills the handle's table, or nullptr.
[[nodiscard]] const Node* FindTableInitializer(const Value& handle);

// Returns the nodes that fill tables among `nodes` (flags by id; empty: all nodes of the graph).
[[nodiscard]] std::vector<Node*> TableInitializers(const Graph& graph,
                                                   const std::vector<char>& nodes);

}  // namespace tpuest
