#include <algorithm>

#include "core/graph/cut.h"
#include "core/graph/tpu_call.h"

namespace tpuest {
namespace {

// A node that is in no place of its own: it is written wherever it is read.
bool IsEverywhere(const Node& node) {
  return node.type() == "Const" || node.type() == "VarHandleOp" || node.type() == "Placeholder";
}

class ClusterFinder {
 public:
  ClusterFinder(const Graph& graph, const TpuInference& spec, const std::vector<Value>& fetches)
      : graph_(graph),
        size_(graph.nodes().size()),
        needed_(NeededNodes(graph, fetches, {}, {})),
        before_(NeededNodes(graph, spec.inputs, {}, {})),
        descends_(size_, 0),
        feeds_device_(size_, 0) {}

  TpuCluster Run() {
    FindDescendants();
    FindDeviceFeeders();
    FindBefore();
    TpuCluster cluster{std::vector<char>(size_, 0), std::vector<char>(size_, 0)};
    std::vector<char> after(size_, 0);
    for (const auto& node : graph_.nodes()) {
      const size_t id = Id(*node);
      if (!needed_[id] || before_[id] || IsEverywhere(*node)) continue;
      after[id] = static_cast<char>(node->after() || (RunsOnHost(*node) && !feeds_device_[id]));
      for (const Value& input : node->inputs()) after[id] |= after[Id(*input.node)];
      cluster.inside[id] = static_cast<char>(!after[id] && !IsVariableRead(*node));
      cluster.outside_compiled[id] = static_cast<char>(cluster.inside[id] && RunsOnHost(*node));
    }
    return cluster;
  }

 private:
  static size_t Id(const Node& node) { return static_cast<size_t>(node.id()); }
  [[nodiscard]] bool IsVariableRead(const Node& node) const {
    return node.type() == "ReadVariableOp" &&
           graph_.VariableOf({const_cast<Node*>(&node), 0}) != nullptr;
  }

  // Of variables, and of what is behind the device by its own word: as in CutGraph, only what
  // needs them needs the device.
  void FindDescendants() {
    for (const auto& node : graph_.nodes()) {
      const size_t id = Id(*node);
      descends_[id] = static_cast<char>(node->type() == "VarHandleOp" || node->after());
      for (const Value& input : node->inputs()) descends_[id] |= descends_[Id(*input.node)];
    }
  }

  // Nodes that some op of the device reads, directly or through host ops.
  void FindDeviceFeeders() {
    for (size_t id = size_; id-- > 0;) {
      const Node& node = *graph_.nodes()[id];
      if (!needed_[id] || node.after()) continue;
      if (RunsOnHost(node) && !feeds_device_[id]) continue;
      for (const Value& input : node.inputs()) feeds_device_[Id(*input.node)] = 1;
    }
  }

  // Host ops that need nothing of the device, and all that they need.
  void FindBefore() {
    for (size_t id = size_; id-- > 0;) {
      const Node& node = *graph_.nodes()[id];
      if (needed_[id] && RunsOnHost(node) && !descends_[id] && !IsEverywhere(node)) before_[id] = 1;
      if (!before_[id]) continue;
      for (const Value& input : node.inputs()) before_[Id(*input.node)] = 1;
    }
  }

  const Graph& graph_;
  const size_t size_;
  const std::vector<char> needed_;
  std::vector<char> before_;
  std::vector<char> descends_;
  std::vector<char> feeds_device_;
};

}  // namespace

TpuCluster FindTpuCluster(const Graph& graph, const TpuInference& spec,
                          const std::vector<Value>& fetches) {
  return ClusterFinder(graph, spec, fetches).Run();
}

}  // namespace tpuest
