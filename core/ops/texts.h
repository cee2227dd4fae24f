#pragma once
// Ops that cut, change and parse strings: host ops, never on the device. A string is a sequence of
// bytes or, if `unit` is UTF8_CHAR, of UTF-8 characters.

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/dtype.h"

namespace tpuest::ops {

// The length of each string in bytes or characters, int32.
Value StringLength(Value x, std::string_view unit = "BYTE", std::string_view name = "");
// Returns up to `length` bytes or characters from `position` on; a negative position counts from
// the end. Both are scalars or of x's shape. A position out of range is an Error kData, as in
// TensorFlow.
Value Substr(Value x, Value position, Value length, std::string_view unit = "BYTE",
             std::string_view name = "");
// x[begin:end] of each string as Python slices bytes: bounds are clamped to the string. nullptr:
// from its start, to its end.
Value TextSlice(Value x, const int64_t* begin, const int64_t* end);
// Concatenates the strings with a separator between them; scalars are repeated.
Value StringJoin(const std::vector<Value>& texts, std::string_view separator = "",
                 std::string_view name = "");
// Parses each string as a number: float, double, int32 or int64. Throws Error kData for anything
// else.
Value StringToNumber(Value x, DType out_type, std::string_view name = "");
// Patterns have RE2's syntax (core/base/text/text_pattern.h).
Value RegexReplace(Value x, std::string_view pattern, std::string_view rewrite, bool all = true,
                   std::string_view name = "");
Value RegexFullMatch(Value x, std::string_view pattern, std::string_view name = "");

// StringLength, StringLower, StringUpper, StringStrip, Substr, StringJoin, StringToNumber
OpFamily TextOps();
OpFamily RegexOps();  // StaticRegexReplace, StaticRegexFullMatch

}  // namespace tpuest::ops
