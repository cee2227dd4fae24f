#pragma once
// The nodes of a graph that somebody else wrote, each of which can be added to a Graph by itself.

#include <map>
#include <memory>
#include <string>

#include "core/graph/graph.h"

namespace tpuest {

class StoredNodes {
 public:
  // Reads a GraphDef (graph.pbtxt, *.pb) or the MetaGraph of a checkpoint (*.meta). Error kData for
  // what is neither.
  explicit StoredNodes(const std::string& path);
  ~StoredNodes();
  StoredNodes(StoredNodes&&) noexcept;
  StoredNodes& operator=(StoredNodes&&) noexcept;

  // Adds the node of this name with its attributes. `inputs` has a value for each of its inputs
  // ("x:0"); control inputs are left out. Error kData that names the node: an op that is not known
  // here, or attributes and inputs that do not fit.
  Node* AddTo(Graph& graph, const std::string& name,
              const std::map<std::string, Value>& inputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tpuest
