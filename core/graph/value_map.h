#pragma once
// Arrays indexed by the values and nodes of one graph, which for a wide table has hundreds of
// thousands.

#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace tpuest {

// One T per value that the graph has when the map is made.
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

  std::vector<size_t> starts_;  // index of a node's first value, by node id
  std::vector<T> entries_;
};

// Maps the values and nodes of one graph to those of another graph that is made from it.
class GraphMap {
 public:
  explicit GraphMap(const Graph& from) : values_(from), nodes_(from.nodes().size(), nullptr) {}

  // Not valid() and nullptr until they are set.
  [[nodiscard]] Value& operator[](const Value& old) { return values_[old]; }
  [[nodiscard]] Node*& operator[](const Node& old) { return nodes_[static_cast<size_t>(old.id())]; }

  // Returns a value that must be set by now.
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
