#pragma once
// Turns a GraphDef into one without function calls; for .cpp files of core/graph.
//
// Calls (PartitionedCall, StatefulPartitionedCall, TPUPartitionedCall, BatchFunction, and nodes
// whose op is a function's name) are replaced by the nodes of the called function, "call/node"; ops
// that only place a computation on a TPU are replaced by their inputs. Nodes that no result needs
// are dropped.

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
  // Tensors ("node:0") whose values are given: the nodes that compute them are not followed.
  std::set<std::string, std::less<>> fed = {};
};

struct InlinedGraph {
  std::shared_ptr<pb::GraphDef>
      graph;  // each input is "node", "node:1" or "^node"; control inputs last
  std::vector<std::string> wanted;  // the new names of the requested tensors, in their order
};

// `registry` provides the outputs of ops by name. Throws Error kData, with the node, for a missing
// input, a function that is missing or calls itself, and more than one replica.
[[nodiscard]] InlinedGraph InlineFunctions(const pb::GraphDef& def, const OpRegistry& registry,
                                           const InlineRequest& request);

}  // namespace tpuest
