#pragma once
// Imports tensors of a MetaGraph, with all that they need, as nodes of a Graph; for .cpp files of
// core/graph.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/io/bundle.h"

namespace tpuest::pb {
class MetaGraphDef;
}  // namespace tpuest::pb

namespace tpuest {

struct ImportRequest {
  const pb::MetaGraphDef& meta;
  std::string folder;  // of the SavedModel; empty: there are no assets
  // The variables' values, opened when one is needed; nullptr: there are none.
  std::function<const BundleReader*()> bundle;
  std::map<std::string, Value> given = {};  // by tensor, "x:0"
  std::vector<std::string> tensors;         // "y:0"; "node" for output 0, or a node without outputs
};

// One value a tensor; {node, 0} for a node without outputs. Variables are added under their names
// in TensorFlow, each with its stored value as initial value, or, where no checkpoint holds it,
// with its initializer, as a local one. Those that the graph has are used. Errors as
// SavedModel::Import.
[[nodiscard]] std::vector<Value> ImportMetaGraph(const ImportRequest& request, Graph& graph);

}  // namespace tpuest
