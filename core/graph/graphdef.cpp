#include "core/graph/graphdef.h"

#include "core/graph/node_def.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {

std::string ToGraphDef(const Graph& graph, const GraphDefOptions& options) {
  pb::GraphDef def;
  WriteGraph(graph, options.add_shapes, def);
  return ToBytes(def);
}

std::string ToGraphDefText(const Graph& graph) {
  pb::GraphDef def;
  WriteGraph(graph, /*add_shapes=*/false, def);
  return ToText(def);
}

}  // namespace tpuest
