#pragma once
// Places of numbers in lists that rise.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

// For each of values [B, M] the first place in its list, sorted_inputs [B, N], whose number is not
// below it; N where there is none. float, int32 or int64; out_type is int32 or int64.
Value LowerBound(Value sorted_inputs, Value values, DType out_type = DType::kInt32,
                 std::string_view name = "");

OpFamily SortedSearchOps();

}  // namespace tpuest::ops
