#pragma once
// Imports tensors of a MetaGraph, with everything they need, as nodes of a Graph; for .cpp files of
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
  std::string folder;  // of the SavedModel; empty if there are no assets
  // Opens the variables' values when they are first needed; returns nullptr if there are none.
  std::function<const BundleReader*()> bundle;
  std::map<std::string, Value> given = {};  // values that replace tensors, by "x:0"
  std::vector<std::string> tensors;  // "y:0"; "node" for output 0 or for a node without outputs
};

// Returns one value per tensor; {node, 0} for a node without outputs. Adds variables under their
// TensorFlow names, with the stored value as initial value or, if no checkpoint holds it, as a
// local variable with its initializer. Uses variables that the graph has already. Throws as
// SavedModel::Import does.
[[nodiscard]] std::vector<Value> ImportMetaGraph(const ImportRequest& request, Graph& graph);

}  // namespace tpuest
