#pragma once
// Ops that cut, change and read texts: host ops, never on the device. A text is bytes; where a
// `unit` says UTF8_CHAR it is the characters of UTF-8.

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/dtype.h"

namespace tpuest::ops {

// int32, the bytes or characters of each text.
Value StringLength(Value x, std::string_view unit = "BYTE", std::string_view name = "");
// `length` bytes or characters from `position` on, as many as there are; a position below 0 counts
// from the end. Both are scalars or of x's shape. Error kData for a position behind the end or
// before the beginning, as in TensorFlow.
Value Substr(Value x, Value position, Value length, std::string_view unit = "BYTE",
             std::string_view name = "");
// x[begin:end] of each text as Python cuts bytes: bounds are clamped to the text. nullptr: from its
// beginning, to its end.
Value TextSlice(Value x, const int64_t* begin, const int64_t* end);
// The texts one after the other, with a separator between them; scalars stand beside all.
Value StringJoin(const std::vector<Value>& texts, std::string_view separator = "",
                 std::string_view name = "");
// The number that each text is: float, double, int32 or int64. Error kData for one that is none.
Value StringToNumber(Value x, DType out_type, std::string_view name = "");
// RE2's patterns (core/base/text/text_pattern.h).
Value RegexReplace(Value x, std::string_view pattern, std::string_view rewrite, bool all = true,
                   std::string_view name = "");
Value RegexFullMatch(Value x, std::string_view pattern, std::string_view name = "");

// StringLength, StringLower, StringUpper, StringStrip, Substr, StringJoin, StringToNumber
OpFamily TextOps();
OpFamily RegexOps();  // StaticRegexReplace, StaticRegexFullMatch

}  // namespace tpuest::ops
