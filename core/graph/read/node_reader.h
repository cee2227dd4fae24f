#pragma once
// Adds the nodes of a GraphDef without functions to a Graph; for .cpp files of core/graph.

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::pb {
class GraphDef;
class NodeDef;
}  // namespace tpuest::pb

namespace tpuest {

// A node of the GraphDef and the node that it became.
struct ReadNode {
  Node* node = nullptr;  // nullptr if other nodes cannot wait for it
  std::vector<Value> outputs;
};

struct NodeReaderOptions {
  // Values that replace tensors, by "node:0".
  std::map<std::string, Value> fed;
  // True: nodes keep their names. False: they get free names in the graph's current scope.
  bool exact_names = false;
  // By node name: a tensor ("node:1") that the node needs besides its inputs.
  std::map<std::string, std::string> also;
  // Makes a node itself and returns true, or returns false and leaves the node to the reader.
  std::function<bool(const pb::NodeDef& node, const std::vector<Value>& inputs, ReadNode& made)>
      make;
};

class NodeReader {
 public:
  // Keeps references to the arguments, which must outlive the reader.
  NodeReader(const pb::GraphDef& def, Graph& graph, const NodeReaderOptions& options)
      : def_(def), graph_(graph), options_(options) {}

  // Adds every node after the nodes that it needs. Throws Error kData, with the node, for an
  // unknown op, for attributes, types or shapes that do not fit, for a missing input, and for a
  // cycle.
  void Run();

  // Returns a tensor ("node:1") that was read or fed; {node, 0} for a node without outputs. Throws
  // Error kData if there is none.
  [[nodiscard]] Value ValueOf(const std::string& tensor) const;

 private:
  void Add(const pb::NodeDef& wanted);
  const pb::NodeDef* FirstMissingInput(const pb::NodeDef& node);
  const pb::NodeDef* Missing(const pb::NodeDef& node, const std::string& input) const;
  void AddReady(const pb::NodeDef& node);
  Node* MakeNode(const pb::NodeDef& node, std::vector<Value> inputs);
  [[nodiscard]] Value Input(const pb::NodeDef& node, const std::string& input) const;

  const pb::GraphDef& def_;
  Graph& graph_;
  const NodeReaderOptions& options_;
  std::unordered_map<std::string, const pb::NodeDef*> by_name_;
  std::unordered_map<std::string, ReadNode> read_;
  // nodes that wait for inputs, with the number of inputs that are ready
  std::unordered_map<const pb::NodeDef*, int> open_;
};

}  // namespace tpuest
