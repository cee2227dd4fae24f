#pragma once
// A graph as TensorFlow's MetaGraphDef: with its saver, collections and signatures.

#include <string>

#include "core/graph/graph.h"

namespace tpuest {

// Serialized MetaGraphDef with the graph, a SaverDef and the collections variables,
// trainable_variables and global_step: model.ckpt-N.meta.
[[nodiscard]] std::string ToMetaGraphDef(const Graph& graph);

}  // namespace tpuest
