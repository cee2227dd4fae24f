#pragma once
// Turns a GraphDef into one without calls of functions; for .cpp files of core/graph.
//
// Calls (PartitionedCall, StatefulPartitionedCall, TPUPartitionedCall, BatchFunction, and nodes
// whose op is a function's name) give way to the nodes of what they call, "call/node"; ops that
// only place a computation on a TPU to what they pass on. Nodes that nothing asks for stay away.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::pb {
class GraphDef;
}  // namespace tpuest::pb

namespace tpuest {

struct InlineRequest {
  // "node:1", "node" for output 0, "^node" for a node without outputs; all nodes if empty.
  std::vector<std::string> wanted;
  // Tensors ("node:0") whose values are given: what they are computed from is not followed.
  std::set<std::string, std::less<>> fed = {};
};

struct InlinedGraph {
  std::shared_ptr<pb::GraphDef>
      graph;  // each input is "node", "node:1" or "^node"; control inputs last
  std::vector<std::string> wanted;  // where what was asked for is now, in its order
};

// `registry` tells the outputs of ops by name. Error kData that names the node: a missing input, a
// function that is missing or calls itself, more than one replica.
[[nodiscard]] InlinedGraph InlineFunctions(const pb::GraphDef& def, const OpRegistry& registry,
                                           const InlineRequest& request);

}  // namespace tpuest
