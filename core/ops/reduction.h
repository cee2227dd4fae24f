#pragma once
// Reductions over axes that are known when the graph is built; no axes means all. Sums of floats
// run in a fixed order, so their bits do not depend on the number of threads.

#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

Value Sum(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
          std::string_view name = "");
Value Mean(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
           std::string_view name = "");
Value Max(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
          std::string_view name = "");
Value Min(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
          std::string_view name = "");
Value Prod(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
           std::string_view name = "");
// x and the result are bool.
Value All(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
          std::string_view name = "");
Value Any(Value x, const std::vector<int64_t>& axes = {}, bool keep_dims = false,
          std::string_view name = "");

// result[i] = sum of data[j] with segment_ids[j] == i, in the order of j; negative ids are dropped.
// data: segment_ids.shape + inner -> [num_segments] + inner.
Value UnsortedSegmentSum(Value data, Value segment_ids, Value num_segments,
                         std::string_view name = "");
Value UnsortedSegmentSum(Value data, Value segment_ids, int64_t num_segments,
                         std::string_view name = "");

OpFamily ReductionOps();
OpFamily SegmentOps();
OpFamily CumsumOps();         // Cumsum
OpFamily SortedSegmentOps();  // SegmentSum, SparseSegmentMean and related ops

}  // namespace tpuest::ops
