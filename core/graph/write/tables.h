#pragma once
// Lookup tables in a graph: a HashTableV2 is a handle, and one node gives the table its content.
// TensorFlow runs that node once a session; here whoever looks something up finds it.

#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

// True if the op gives the table of input 0 its content.
[[nodiscard]] inline bool InitializesTable(const OpDef& op) { return op.writes && op.host; }

// True for handles of one table: the same node, or the same shared_name.
[[nodiscard]] bool IsSameTable(const Node& a, const Node& b);

// The first node that gives the handle's table its content, or nullptr.
[[nodiscard]] const Node* FindTableInitializer(const Value& handle);

// The initializers of the tables among `nodes` (by id; empty: all nodes of the graph).
[[nodiscard]] std::vector<Node*> TableInitializers(const Graph& graph,
                                                   const std::vector<char>& nodes);

}  // namespace tpuest
