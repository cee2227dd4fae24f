#pragma once
// Finds the nodes that give a MetaGraph's tables their content; for .cpp files of core/graph.

#include "core/graph/read/function_inliner.h"

namespace tpuest::pb {
class MetaGraphDef;
}  // namespace tpuest::pb

namespace tpuest {

// InlineFunctions, and the initializers of the tables that the result looks things up in, appended
// to `wanted`. They are found through the op that a server runs once after loading, the collection
// table_initializer, or among the graph's own nodes. Errors as InlineFunctions.
[[nodiscard]] InlinedGraph InlineWithTables(const pb::MetaGraphDef& meta,
                                            const OpRegistry& registry,
                                            const InlineRequest& request);

}  // namespace tpuest
