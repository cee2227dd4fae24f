#pragma once
// The function that a MapDefun node calls on each element: here the decoding of image files. For
// .cpp files of core/graph.

#include "core/graph/write/node_def.h"

namespace tpuest {

// Adds the function of a node to the graph's library, once; does nothing for a node of another op.
//
//   bytes ─▶ DecodeImage ─▶ ExpandDims ─▶ ResizeBilinear ─▶ Squeeze ─▶ image
void WriteMapFunction(const Node& node, pb::GraphDef& def);

}  // namespace tpuest
