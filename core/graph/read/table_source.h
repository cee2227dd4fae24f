#pragma once
// Finds the nodes that initialize a MetaGraph's tables; for .cpp files of core/graph.

#include "core/graph/read/function_inliner.h"

namespace tpuest::pb {
class MetaGraphDef;
}  // namespace tpuest::pb

namespace tpuest {

// Calls InlineFunctions and appends the initializers of the tables that the result uses to
// `wanted`. Finds them through the op that a server runs once after loading, the collection
// table_initializer, or the graph's own nodes. Throws as InlineFunctions does.
[[nodiscard]] InlinedGraph InlineWithTables(const pb::MetaGraphDef& meta,
                                            const OpRegistry& registry,
                                            const InlineRequest& request);

}  // namespace tpuest
