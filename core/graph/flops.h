#pragma once
// A node's cost is the number of floating-point operations in one run, counted by the graph's
// shapes; a dimension that only the data determines counts as 1. The counts are a definition and do
// not depend on how a backend computes the node:
//
//   contractions (MatMul, convolutions)       2 per product that is summed
//   elementwise ops, normalization, pooling   1 per element of the first result, if floating
//   sums, losses, optimizers' updates         1 per element of the largest floating input
//   moves, comparisons, random numbers        0

#include <cstdint>

#include "core/graph/graph.h"

namespace tpuest {

// Returns 0 for an op without OpDef::flops.
[[nodiscard]] int64_t FlopsOf(const Node& node);

// Returns the number of elements of a tensor, counting an unknown dimension as 1; 1 if the rank is
// unknown.
[[nodiscard]] int64_t CountedElements(const Shape& shape);

// Common rules for OpDef::flops: 1 per element of the first result, or of the largest floating
// input.
[[nodiscard]] int64_t OutputFlops(const Node& node);
[[nodiscard]] int64_t InputFlops(const Node& node);

}  // namespace tpuest
