#include "core/graph/write/graphdef.h"

#include <google/protobuf/arena.h>

#include "core/graph/write/node_def.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {

std::string ToGraphDef(const Graph& graph, const GraphDefOptions& options) {
  google::protobuf::Arena arena;
  auto* const def = google::protobuf::Arena::CreateMessage<pb::GraphDef>(&arena);
  WriteGraph(graph, options.add_shapes, *def);
  return ToBytes(*def);
}

GraphDefForms ToGraphDefForms(const Graph& graph) {
  google::protobuf::Arena arena;
  auto* const def = google::protobuf::Arena::CreateMessage<pb::GraphDef>(&arena);
  WriteGraph(graph, /*add_shapes=*/false, *def);
  return {.text = ToText(*def), .bytes = ToBytes(*def)};
}

}  // namespace tpuest
