#pragma once
// The graph as TensorFlow's GraphDef, both ways. Nodes are written as they are: names, ops,
// attributes, inputs ("node", "node:1", "^control"), devices empty.

#include <memory>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tpuest {

struct GraphDefOptions {
  // Adds _output_shapes attributes, as tf.Graph.as_graph_def(add_shapes=True).
  bool add_shapes = false;
};

// The serialized GraphDef (versions: producer 1395, min_consumer 0), nodes in graph order. Equal
// graphs give equal bytes.
[[nodiscard]] std::string ToGraphDef(const Graph& graph, const GraphDefOptions& options = {});
// The GraphDef as protobuf text: graph.pbtxt.
[[nodiscard]] std::string ToGraphDefText(const Graph& graph);
// Adds the nodes of a serialized GraphDef to an empty graph, with calls of functions and variables
// of TensorFlow 1 as SavedModel::Import replaces them; its variables become the Graph's, with
// initial values where a node "<variable>/Assign" tells them. Error kData that names the node for
// an op or attribute that is not known here, a missing input, or a cycle.
void FromGraphDef(std::string_view serialized, Graph& graph);

}  // namespace tpuest
