#pragma once
// Converts a graph to and from TensorFlow's GraphDef. Nodes are written as they are: names, ops,
// attributes, inputs ("node", "node:1", "^control"), with empty devices.

#include <memory>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tpuest {

struct GraphDefOptions {
  // Adds _output_shapes attributes, as tf.Graph.as_graph_def(add_shapes=True) does.
  bool add_shapes = false;
};

// Returns the serialized GraphDef (versions: producer 1395, min_consumer 0), with nodes in graph
// order. Equal graphs give equal bytes.
[[nodiscard]] std::string ToGraphDef(const Graph& graph, const GraphDefOptions& options = {});
// A GraphDef as protobuf text (graph.pbtxt), and serialized as by ToGraphDef.
struct GraphDefForms {
  std::string text;
  std::string bytes;
};
// Returns both forms. Its cost on a wide model is that of a GraphDef, which is built once.
[[nodiscard]] GraphDefForms ToGraphDefForms(const Graph& graph);
// Adds the nodes of a serialized GraphDef to an empty graph, replacing function calls and
// TensorFlow 1 variables as SavedModel::Import does. Its variables become the Graph's, with the
// initial value of a node "<variable>/Assign" if there is one. Throws Error kData, with the node,
// for an unknown op or attribute, a missing input, and a cycle.
void FromGraphDef(std::string_view serialized, Graph& graph);

}  // namespace tpuest
