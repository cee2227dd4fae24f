#pragma once
// A DenseSlice says which elements a StridedSlice takes, axis by axis.

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct DenseSlice {
  // One entry per axis of the input. size: the number of elements taken (kUnknownDim if not known).
  std::vector<int64_t> begin;
  std::vector<int64_t> strides;
  std::vector<int64_t> sizes;
  Shape out;                 // with inserted axes, without shrunk ones
  bool keeps_first = false;  // axis 0 of the input is axis 0 of the result
  std::string fault;         // what is wrong; empty if nothing
};

// Resolves the begin, end, strides and masks of a StridedSlice or StridedSliceGrad for an input of
// `shape`, which has a known rank.
[[nodiscard]] DenseSlice ResolveSlice(const Node& node, const Shape& shape,
                                      const std::vector<int64_t>& begin,
                                      const std::vector<int64_t>& end,
                                      const std::vector<int64_t>& strides);

}  // namespace tpuest::ops
