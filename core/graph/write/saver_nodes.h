#pragma once
// The nodes that TensorFlow needs to initialize, save and restore variables; tpuest itself does not
// use them. For .cpp files of core/graph.

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
// the VariableDef that collections store for it.
[[nodiscard]] pb::VariableDef WriteVariable(const Variable& variable, pb::GraphDef& graph);

// Adds the nodes of tf.compat.v1.train.Saver(sharded=True) for the graph's variables that are not
// local, sorted by name, under "save/" (or a free name like it), and returns the SaverDef that
// names them.
[[nodiscard]] pb::SaverDef WriteSaver(const Graph& graph, NodeNames& names, pb::GraphDef& def);

}  // namespace tpuest
