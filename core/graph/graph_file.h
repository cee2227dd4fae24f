#pragma once
// Reads graph files that other programs wrote; for .cpp files of core/graph.

#include <string>

namespace tpuest::pb {
class GraphDef;
}  // namespace tpuest::pb

namespace tpuest {

// Reads a GraphDef (graph.pbtxt, *.pb) or the graph of a checkpoint's MetaGraph (*.meta) into
// `graph`; the file extension decides the format. Throws Error kData for a file in neither format.
void ReadGraphFile(const std::string& path, pb::GraphDef& graph);

}  // namespace tpuest
