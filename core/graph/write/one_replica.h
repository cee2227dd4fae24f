#pragma once
// Writes the ops between replicas for programs that run a training graph as a single replica, where
// TensorFlow has no kernel for a sum over replicas. The graph is written as if each replica was fed
// the same rows.
//
//   CrossReplicaSum         n times the input: an AddN
//   _OfReplica              the input
//   _GatherRowsOfReplicas   the inputs repeated n times: ConcatV2s
//   _SumRowsOfReplicas      Unique and UnsortedSegmentSum, without padding rows

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/write/node_def.h"

namespace tpuest {

class OneReplica {
 public:
  // Keeps references. `tensor_names` maps a value to the tensor that later nodes read.
  OneReplica(NodeNames& names, pb::GraphDef& graph, std::map<Value, std::string>& tensor_names)
      : names_(names), graph_(graph), tensor_names_(tensor_names) {}

  // Changes `def`, the node as it was written, and adds the further nodes that it needs.
  void Write(Node& node, pb::NodeDef& def);

 private:
  std::string Add(NodeText node);
  void WriteGather(Node& node, pb::NodeDef& def);
  void WriteSumOfRows(Node& node, pb::NodeDef& def);

  NodeNames& names_;
  pb::GraphDef& graph_;
  std::map<Value, std::string>& tensor_names_;
};

}  // namespace tpuest
