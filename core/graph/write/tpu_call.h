#pragma once
// Writes the call of a TPU computation in a GraphDef, and the function that it calls. For .cpp
// files of core/graph.
//
//   graph:     TPUPartitionedCall(captured..., TPUOrdinalSelector) -> results
//              or BatchFunction(inputs, captured) whose function makes that call
//   function:  TPUReplicateMetadata, the nodes (each with _tpu_replicate), and for result i an
//              Identity on the core, TPUReplicatedOutput "output<i>" and Identity
//              "output_<i>_shard_0_0"

#include <map>
#include <string>
#include <vector>

#include "core/graph/tpu_inference.h"
#include "core/graph/write/node_def.h"

namespace tpuest {

// Where each node of a graph runs when a TpuInference goes to a TPU.
struct TpuCluster {
  std::vector<char> inside;            // by id: runs in the call
  std::vector<char> outside_compiled;  // by id: runs in the call, but on the host
};
// Finds the nodes that run in the call; `fetches` are all values that the graph must provide.
[[nodiscard]] TpuCluster FindTpuCluster(const Graph& graph, const TpuInference& spec,
                                        const std::vector<Value>& fetches);

struct TpuCall {
  std::vector<std::string> results;  // the results in the graph, "TPUPartitionedCall:1"
  std::vector<Value> captured;       // values outside the cluster that the call reads
};
// Adds the call to `def` and its functions to the library. The cluster must contain all of
// spec.results.
[[nodiscard]] TpuCall WriteTpuCall(const Graph& graph, const TpuInference& spec,
                                   const TpuCluster& cluster, bool strip_default_attrs,
                                   NodeNames& names, pb::GraphDef& def);

}  // namespace tpuest
