#pragma once
// Bitwise ops on integers, int32 and int64. Their records are with the other binary functions
// (elementwise_binary.cpp).

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

Value BitwiseAnd(Value x, Value y, std::string_view name = "");
Value BitwiseXor(Value x, Value y, std::string_view name = "");
// Shifts x right and fills with its sign bit. The distance is clamped to 0 .. number of bits - 1.
Value RightShift(Value x, Value y, std::string_view name = "");

}  // namespace tpuest::ops
