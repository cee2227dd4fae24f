#pragma once
// Cuts a graph in three programs: *before* (host ops, and ops on strings, that the device
// needs, and all they depend on), *device*, and *after* (nodes of an AfterScope, and host ops that
// need the device). What crosses a cut is fetched on one side and fed on the other; *after* sees
// every replica's outputs concatenated along axis 0, and computes what follows from shapes anew.

#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

enum class Part { kBefore, kDevice, kAfter };

struct GraphCut {
  std::vector<Part> parts;              // of each node, by id
  std::vector<Value> before_to_device;  // computed before, read by the device or after it
  std::vector<Value> device_to_after;   // computed on the device, read after it
  [[nodiscard]] Part PartOf(const Node& node) const {
    return parts[static_cast<size_t>(node.id())];
  }
};

// True if the node cannot be on the device: a host op, or one that moves strings about.
[[nodiscard]] bool RunsOnHost(const Node& node);

// The cut for what `fetches` and `targets` need. Error kUsage by node and place where *before*
// would read a variable or draw a random number.
[[nodiscard]] GraphCut CutGraph(const Graph& graph, const std::vector<Value>& fetches,
                                const std::vector<Node*>& targets);

// Nodes that the fetches and targets need, by id: inputs and control inputs, transitively; the
// values in `fed` need nothing.
[[nodiscard]] std::vector<char> NeededNodes(const Graph& graph, const std::vector<Value>& fetches,
                                            const std::vector<Node*>& targets,
                                            const std::vector<Value>& fed);

}  // namespace tpuest
