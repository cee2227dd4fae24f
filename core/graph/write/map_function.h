#pragma once
// The function that a MapDefun node calls on each element, which here decodes image files. For .cpp
// files of core/graph.

#include "core/graph/write/node_def.h"

namespace tpuest {

// Adds the function of a MapDefun node to the graph's library, once; ignores nodes of other ops.
//
//   bytes ─▶ DecodeImage ─▶ ExpandDims ─▶ ResizeBilinear ─▶ Squeeze ─▶ image
void WriteMapFunction(const Node& node, pb::GraphDef& def);

}  // namespace tpuest
