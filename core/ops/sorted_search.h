#pragma once
// Finds the positions of numbers in sorted lists.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// For each of values [B, M], returns the first position in its list, sorted_inputs [B, N], whose
// number is at least the value; N if there is none. float, int32 or int64; out_type is int32 or
// int64.
Value LowerBound(Value sorted_inputs, Value values, DType out_type = DType::kInt32,
                 std::string_view name = "");

OpFamily SortedSearchOps();

}  // namespace tpuest::ops
