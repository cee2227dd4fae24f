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

// A node of the GraphDef, and what it has become.
struct ReadNode {
  Node* node = nullptr;  // nullptr: nothing that other nodes could wait for
  std::vector<Value> outputs;
};

struct NodeReaderOptions {
  // Values in the place of tensors, by "node:0".
  std::map<std::string, Value> fed;
  // Nodes keep their names; else they get free ones in the graph's current scope.
  bool exact_names = false;
  // Tensors ("node:1") that a node, by name, needs to be there beside its inputs.
  std::map<std::string, std::string> also;
  // Makes a node by itself; false: the reader shall.
  std::function<bool(const pb::NodeDef& node, const std::vector<Value>& inputs, ReadNode& made)>
      make;
};

class NodeReader {
 public:
  // The arguments are kept, not copied: they outlive the reader.
  NodeReader(const pb::GraphDef& def, Graph& graph, const NodeReaderOptions& options)
      : def_(def), graph_(graph), options_(options) {}

  // Adds every node, each after those that it needs. Error kData that names the node: an op that is
  // not known here, attributes, types or shapes that do not fit, a missing input, a cycle.
  void Run();

  // A tensor ("node:1") that has been read or fed; for a node without outputs, {node, 0}. Error
  // kData if there is none.
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
  std::unordered_map<const pb::NodeDef*, int> open_;  // and how many inputs are there already
};

}  // namespace tpuest
