#include "core/graph/graph_file.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/io/checkpoint_state.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {

// Proto3 takes nearly any bytes for an empty message, so a graph without nodes is a file of another
// kind.
void ReadGraphFile(const std::string& path, pb::GraphDef& graph) {
  if (path.ends_with(".pbtxt")) {
    FromText(ReadFile(path), graph, path, Code::kData);
  } else if (path.ends_with(kMetaGraphEnding)) {
    pb::MetaGraphDef meta;
    FromBytes(ReadFile(path), meta, path, Code::kData);
    graph = std::move(*meta.mutable_graph_def());
  } else {
    FromBytes(ReadFile(path), graph, path, Code::kData);
  }
  if (graph.node_size() == 0) {
    throw Error(Code::kData, fmt::format("{}: not a GraphDef: it contains no node", path));
  }
}

}  // namespace tpuest
