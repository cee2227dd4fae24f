#pragma once
// Cuts a graph into three programs: *before* (the host ops and string ops that the device needs,
// with everything they depend on), *device*, and *after* (nodes of an AfterScope, and host ops that
// need the device). Values that cross a cut are fetched on one side and fed on the other. *after*
// receives every replica's outputs concatenated along axis 0, and infers shapes from these again.

#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

enum class Part { kBefore, kDevice, kAfter };

struct GraphCut {
  std::vector<Part> parts;              // of each node, indexed by node id
  std::vector<Value> before_to_device;  // computed before, read by the device or by *after*
  std::vector<Value> device_to_after;   // computed on the device, read by *after*
  [[nodiscard]] Part PartOf(const Node& node) const {
    return parts[static_cast<size_t>(node.id())];
  }
};

// True if the node cannot run on the device: a host op, or an op that passes strings on.
[[nodiscard]] bool RunsOnHost(const Node& node);

// Returns the cut for the nodes that `fetches` and `targets` need. Throws Error kUsage with the
// node and its place if *before* would read a variable or draw a random number.
[[nodiscard]] GraphCut CutGraph(const Graph& graph, const std::vector<Value>& fetches,
                                const std::vector<Node*>& targets);

// Marks, by id, the nodes that the fetches and targets need: inputs and control inputs,
// transitively. Values in `fed` need no nodes.
[[nodiscard]] std::vector<char> NeededNodes(const Graph& graph, const std::vector<Value>& fetches,
                                            const std::vector<Node*>& targets,
                                            const std::vector<Value>& fed);

}  // namespace tpuest
