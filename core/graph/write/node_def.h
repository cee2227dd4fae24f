#pragma once
// Writes nodes and attributes as protobuf messages; for .cpp files of core/graph. attr_reader.h and
// node_reader.h read them.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::pb {
enum DataType : int;
class AttrValue;
class GraphDef;
class NodeDef;
}  // namespace tpuest::pb

namespace tpuest {

[[nodiscard]] inline pb::DataType TypeOf(DType dtype) { return static_cast<pb::DataType>(dtype); }

void WriteAttr(const AttrValue& value, pb::AttrValue& out);

// Writes name, op, inputs ("node", "node:1", "^control") and attributes; the device is empty.
void WriteNode(const Node& node, pb::NodeDef& out);
// Adds the attribute _output_shapes, as tf.Graph.as_graph_def(add_shapes=True) does.
void WriteOutputShapes(const Node& node, pb::NodeDef& out);

void WriteGraphVersions(pb::GraphDef& out);
// Writes all nodes, in graph order, and the versions.
void WriteGraph(const Graph& graph, bool add_shapes, pb::GraphDef& out);

// A node that is in no Graph, such as those of savers and function calls.
struct NodeText {
  std::string_view op;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::string_view device;
};
void WriteNode(const NodeText& node, pb::NodeDef& out);

// Removes the attributes that hold the default in the op's signature.
void StripDefaultAttrs(const Node& node, pb::NodeDef& out);

// Names of nodes, each used once.
class NodeNames {
 public:
  NodeNames() = default;
  explicit NodeNames(const Graph& graph);
  // Returns the name, with "_1", "_2", ... appended if it is taken, and reserves the result.
  std::string Unique(const std::string& name);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace tpuest
