#pragma once
// What replicas do together, for who runs a training graph as one of them: TensorFlow has no kernel
// for a sum over them there. It is written as if each replica was fed the same rows.
//
//   CrossReplicaSum         n times the one: an AddN
//   _OfReplica              the one
//   _GatherRowsOfReplicas   the ones n times, one behind the other: ConcatV2s
//   _SumRowsOfReplicas      Unique and UnsortedSegmentSum; what fills up the rows is left out

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/write/node_def.h"

namespace tpuest {

class OneReplica {
 public:
  // Keeps references. `tensor_names`: what later nodes find in the place of a value.
  OneReplica(NodeNames& names, pb::GraphDef& graph, std::map<Value, std::string>& tensor_names)
      : names_(names), graph_(graph), tensor_names_(tensor_names) {}

  // Changes `def`, the node as it was written, and adds the nodes that it then needs.
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
