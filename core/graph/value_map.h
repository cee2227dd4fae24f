#pragma once
// Arrays by the values and nodes of one graph: a wide table's graph has hundreds of thousands.

#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace tpuest {

// A T for each value that the graph has when the map is made.
template <class T>
class ValueMap {
 public:
  explicit ValueMap(const Graph& graph) {
    size_t values = 0;
    for (const auto& node : graph.nodes()) {
      starts_.push_back(values);
      values += static_cast<size_t>(node->outputs());
    }
    entries_.resize(values);
  }

  [[nodiscard]] T& operator[](const Value& value) { return entries_[IndexOf(value)]; }
  [[nodiscard]] const T& operator[](const Value& value) const { return entries_[IndexOf(value)]; }

 private:
  [[nodiscard]] size_t IndexOf(const Value& value) const {
    return starts_[static_cast<size_t>(value.node->id())] + static_cast<size_t>(value.index);
  }

  std::vector<size_t> starts_;  // by node id
  std::vector<T> entries_;
};

// What the values and nodes of a graph became in another graph, which is made of it.
class GraphMap {
 public:
  explicit GraphMap(const Graph& from) : values_(from), nodes_(from.nodes().size(), nullptr) {}

  // Not valid(), and null, until they are set.
  [[nodiscard]] Value& operator[](const Value& old) { return values_[old]; }
  [[nodiscard]] Node*& operator[](const Node& old) { return nodes_[static_cast<size_t>(old.id())]; }

  // What must be there by now.
  [[nodiscard]] Value At(const Value& old) const {
    const Value& value = values_[old];
    Check(value.valid(), "'{}' is not in the new graph yet", old.name());
    return value;
  }
  [[nodiscard]] Node* At(const Node& old) const {
    Node* const node = nodes_[static_cast<size_t>(old.id())];
    Check(node != nullptr, "'{}' is not in the new graph yet", old.name());
    return node;
  }

 private:
  ValueMap<Value> values_;
  std::vector<Node*> nodes_;  // by the old node's id
};

}  // namespace tpuest
