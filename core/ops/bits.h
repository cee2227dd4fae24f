#pragma once
// Of the bits of integers, int32 and int64. Their records stand with the other functions of two
// arguments (elementwise_binary.cpp).

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

Value BitwiseAnd(Value x, Value y, std::string_view name = "");
Value BitwiseXor(Value x, Value y, std::string_view name = "");
// The sign moves in; by 0 bits at least, and by all but one at most.
Value RightShift(Value x, Value y, std::string_view name = "");

}  // namespace tpuest::ops
