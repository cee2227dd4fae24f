#pragma once
// Arrays by the values of one graph: a wide table's graph has hundreds of thousands.

#include <vector>

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

}  // namespace tpuest
