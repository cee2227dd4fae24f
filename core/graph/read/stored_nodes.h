#pragma once
// The nodes of a graph that another program wrote; each can be added to a Graph by itself.

#include <map>
#include <memory>
#include <string>

#include "core/graph/graph.h"

namespace tpuest {

class StoredNodes {
 public:
  // Reads a GraphDef (graph.pbtxt, *.pb) or a checkpoint's MetaGraph (*.meta). Throws Error kData
  // for a file in neither format.
  explicit StoredNodes(const std::string& path);
  ~StoredNodes();
  StoredNodes(StoredNodes&&) noexcept;
  StoredNodes& operator=(StoredNodes&&) noexcept;

  // Adds the node of this name with its attributes. `inputs` has a value for each of its inputs
  // ("x:0"); control inputs are dropped. Throws Error kData, with the node, for an unknown op and
  // for attributes and inputs that do not fit.
  Node* AddTo(Graph& graph, const std::string& name,
              const std::map<std::string, Value>& inputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tpuest
