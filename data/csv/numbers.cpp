// Numbers in CSV fields: parses them independently of the locale, and infers types.

#include <fast_float/fast_float.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/csv/columns.h"

namespace tpuest::data {
namespace {

// Removes the characters of C's isspace from both ends, as decode_csv does.
std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <class T>
void Store(T value, uint64_t& bits) {
  std::memcpy(&bits, &value, sizeof(value));
}

// Digits after at most one minus: decode_csv accepts a plus only before floating numbers.
bool ParseWhole(std::string_view text, int64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return false;
  while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
  if (text.size() > 19) return false;  // 19 digits fit in 64 bits without a sign
  uint64_t magnitude = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    magnitude = magnitude * 10 + static_cast<uint64_t>(c - '0');
  }
  const uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (magnitude > most + (negative ? 1 : 0)) return false;
  value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

// The value of hexadecimal digits, without a sign: "0x1f", which decode_csv reads as a floating
// number.
template <class T>
bool ParseHex(std::string_view text, T& value) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  text.remove_prefix(2);
  if (text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) return false;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::hex);
  return !text.empty() && read.ptr == end && read.ec == std::errc();
}

// Parses digits, "inf" or "nan" in any case, without a sign. A finite number that rounds to
// infinity does not fit; one that rounds to 0 does.
template <class T>
bool ParseUnsigned(std::string_view text, T& value) {
  if (ParseHex(text, value)) return true;
  const bool is_digits = text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (text.empty() || text[0] == '+' || text[0] == '-') return false;
  // Fast_float would accept "infinity" and "nan(1)".
  if (!is_digits && text.size() != 3) return false;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = fast_float::from_chars(text.data(), end, value);
  if (rest != end) return false;
  if (error != std::errc() && error != std::errc::result_out_of_range) return false;
  return !std::isinf(value) || !is_digits;
}

// Rounds the text once, to the requested type.
template <class T>
bool ParseFloat(std::string_view text, T& value) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!ParseUnsigned(text, value)) return false;
  if (negative) value = -value;
  return true;
}

bool IsWhole(std::string_view text, DType dtype) {
  uint64_t bits = 0;
  return ParseCsvNumber(text, dtype, bits);
}

// True for numbers below infinity, including "-inf" but not "nan" and "inf", as in TensorFlow's
// _is_valid_float.
bool IsBelowInfinity(std::string_view text, DType dtype) {
  text = Trimmed(text);
  float value = 0;
  if (dtype == DType::kFloat) {
    return ParseFloat(text, value) && value < std::numeric_limits<float>::infinity();
  }
  double wide = 0;
  return ParseFloat(text, wide) && wide < std::numeric_limits<double>::infinity();
}

}  // namespace

bool ParseCsvNumber(std::string_view text, DType dtype, uint64_t& bits) {
  text = Trimmed(text);
  if (dtype == DType::kFloat) {
    float value = 0;
    if (!ParseFloat(text, value)) return false;
    Store(value, bits);
    return true;
  }
  if (dtype == DType::kDouble) {
    double value = 0;
    if (!ParseFloat(text, value)) return false;
    Store(value, bits);
    return true;
  }
  int64_t value = 0;
  if (!ParseWhole(text, value)) return false;
  if (dtype == DType::kInt64) {
    Store(value, bits);
    return true;
  }
  if (value != static_cast<int32_t>(value)) return false;
  Store(static_cast<int32_t>(value), bits);
  return true;
}

std::string ExpectedCsvNumber(DType dtype) {
  return fmt::format("a {} ({})", IsInteger(dtype) ? "whole number" : "number", NameOf(dtype));
}

DType InferCsvType(std::string_view text, std::string_view na_value, DType before) {
  if (text.empty() || text == na_value) return before;
  // Tries types from the column's own on; a column never returns to a narrower type.
  constexpr std::array kTypes = {DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble};
  bool may_be = before == DType::kInvalid;
  for (const DType dtype : kTypes) {
    may_be = may_be || dtype == before;
    if (may_be && (IsInteger(dtype) ? IsWhole(text, dtype) : IsBelowInfinity(text, dtype))) {
      return dtype;
    }
  }
  return DType::kString;
}

}  // namespace tpuest::data
