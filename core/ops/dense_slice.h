#pragma once
// A DenseSlice says what a StridedSlice picks, axis by axis.

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct DenseSlice {
  // One an axis of the input. size: how many are taken (kUnknownDim if not known).
  std::vector<int64_t> begin;
  std::vector<int64_t> strides;
  std::vector<int64_t> sizes;
  Shape out;                 // new axes put in, shrunk ones left out
  bool keeps_first = false;  // axis 0 of the input is axis 0 of the result
  std::string fault;         // what is wrong, or empty
};

// Input `shape` (of known rank) under the begin, end, strides and masks of a StridedSlice or
// StridedSliceGrad.
[[nodiscard]] DenseSlice ResolveSlice(const Node& node, const Shape& shape,
                                      const std::vector<int64_t>& begin,
                                      const std::vector<int64_t>& end,
                                      const std::vector<int64_t>& strides);

}  // namespace tpuest::ops
