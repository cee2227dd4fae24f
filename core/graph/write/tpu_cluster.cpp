#include <algorithm>

#include "core/graph/cut.h"
#include "core/graph/write/tpu_call.h"

namespace tpuest {
namespace {

// A node that is in no place of its own: it is written wherever it is read.
bool IsEverywhere(const Node& node) {
  return node.op().source != ValueSource::kNone && node.op().source != ValueSource::kRead;
}

// Finds the nodes inside the call. Nodes before the device in CutGraph come before the call. Any
// other host op is inside only if the device reads its result (an outside compilation); otherwise
// it, and everything that depends on it, comes after the call.
class ClusterFinder {
 public:
  ClusterFinder(const Graph& graph, const TpuInference& spec, const std::vector<Value>& fetches)
      : graph_(graph),
        size_(graph.nodes().size()),
        needed_(NeededNodes(graph, fetches, {}, {})),
        receiver_(NeededNodes(graph, spec.inputs, {}, {})),
        cut_(CutGraph(graph, fetches, {})),
        feeds_device_(size_, 0) {}

  // One pass in graph order: `after` of the inputs is known when a node's turn comes. A variable's
  // read is not inside: the body makes one for each reader.
  TpuCluster Run() {
    FindDeviceFeeders();
    TpuCluster cluster{std::vector<char>(size_, 0), std::vector<char>(size_, 0)};
    std::vector<char> after(size_, 0);
    for (const auto& node : graph_.nodes()) {
      const size_t id = Id(*node);
      if (!needed_[id] || receiver_[id] || IsEverywhere(*node)) continue;
      if (cut_.PartOf(*node) == Part::kBefore) continue;
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
    return node.op().source == ValueSource::kRead &&
           graph_.VariableOf({const_cast<Node*>(&node), 0}) != nullptr;
  }

  // Marks the nodes that some op of the device reads, directly or through host ops. From the last
  // node to the first, so that a host op knows of its readers before its own inputs are marked.
  void FindDeviceFeeders() {
    for (size_t id = size_; id-- > 0;) {
      const Node& node = *graph_.nodes()[id];
      if (!needed_[id] || node.after()) continue;
      if (RunsOnHost(node) && !feeds_device_[id]) continue;
      for (const Value& input : node.inputs()) feeds_device_[Id(*input.node)] = 1;
    }
  }

  const Graph& graph_;
  const size_t size_;
  const std::vector<char> needed_;
  const std::vector<char> receiver_;  // what the inputs are made of
  const GraphCut cut_;
  std::vector<char> feeds_device_;
};

}  // namespace

TpuCluster FindTpuCluster(const Graph& graph, const TpuInference& spec,
                          const std::vector<Value>& fetches) {
  return ClusterFinder(graph, spec, fetches).Run();
}

}  // namespace tpuest
