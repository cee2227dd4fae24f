#pragma once
// Reads the file of a graph that somebody else wrote; for .cpp files of core/graph.

#include <string>

namespace tpuest::pb {
class GraphDef;
}  // namespace tpuest::pb

namespace tpuest {

// Reads a GraphDef (graph.pbtxt, *.pb) or the graph of a checkpoint's MetaGraph (*.meta) into
// `graph`; the ending of the name decides the format. Error kData for what is neither.
void ReadGraphFile(const std::string& path, pb::GraphDef& graph);

}  // namespace tpuest
