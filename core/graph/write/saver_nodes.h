#pragma once
// The nodes around variables that TensorFlow needs and tpuest has no use for: initialising, saving
// and restoring them. For .cpp files of core/graph.

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/write/node_def.h"

namespace tpuest::pb {
class SaverDef;
class VariableDef;
}  // namespace tpuest::pb

namespace tpuest {

// Adds the nodes IsInitialized/VarIsInitializedOp and Assign of a variable to `graph`, and returns
// the VariableDef by which collections tell of it.
[[nodiscard]] pb::VariableDef WriteVariable(const Variable& variable, pb::GraphDef& graph);

// Adds the nodes of tf.compat.v1.train.Saver(sharded=True) for the graph's variables that are not
// local, sorted by name, under "save/" (or a free name like it), and returns the SaverDef that
// names them.
[[nodiscard]] pb::SaverDef WriteSaver(const Graph& graph, NodeNames& names, pb::GraphDef& def);

}  // namespace tpuest
