#pragma once
// Nodes and attributes as protobuf messages, both ways; for .cpp files of core/graph.

#include <string>

#include "core/graph/graph.h"
#include "core/io/protos.h"

namespace tpuest {

[[nodiscard]] inline pb::DataType TypeOf(DType dtype) { return static_cast<pb::DataType>(dtype); }

void WriteAttr(const AttrValue& value, pb::AttrValue& out);

// Name, op, inputs ("node", "node:1", "^control") and attributes; device empty.
void WriteNode(const Node& node, pb::NodeDef& out);
// The attribute _output_shapes, as tf.Graph.as_graph_def(add_shapes=True) has it.
void WriteOutputShapes(const Node& node, pb::NodeDef& out);

// All nodes, in graph order, and the versions.
void WriteGraph(const Graph& graph, bool add_shapes, pb::GraphDef& out);

// An attribute by the type that the op's signature gives it ("list(int)"). Error kData that names
// the node.
[[nodiscard]] AttrValue ReadAttr(const pb::NodeDef& node, const std::string& name,
                                 const std::string& type);

}  // namespace tpuest
