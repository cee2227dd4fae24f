#pragma once
// A node's cost is counted in floating-point operations of one run by the shapes that the graph
// has; a dimension that only the data knows counts as 1. The counts are a definition, whatever a
// backend makes of the node:
//
//   contractions (MatMul, convolutions)       2 for each product that is added up
//   elementwise ops, normalization, pools     1 for each element of the first result, if floating
//   sums, losses, optimizers' updates         1 for each element of the largest floating input
//   what moves, compares or draws numbers     0

#include <cstdint>

#include "core/graph/graph.h"

namespace tpuest {

// 0 for an op without OpDef::flops.
[[nodiscard]] int64_t FlopsOf(const Node& node);

// Elements of a tensor, an unknown dimension taken as 1; of unknown rank 1.
[[nodiscard]] int64_t CountedElements(const Shape& shape);

// The common rules for OpDef::flops: one for each element of the first result, or of the largest
// floating input.
[[nodiscard]] int64_t OutputFlops(const Node& node);
[[nodiscard]] int64_t InputFlops(const Node& node);

}  // namespace tpuest
