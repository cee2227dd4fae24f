// Numbers in CSV fields: parsing without a locale, and the inference of types.

#include <fast_float/fast_float.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/csv/columns.h"

namespace tpuest {
namespace {

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <class T>
void Store(T value, uint64_t& bits) {
  std::memcpy(&bits, &value, sizeof(value));
}

// The digits are read by hand, since from_chars refuses a leading '+'.
bool ParseWhole(std::string_view text, int64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
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

bool SaysInfinite(std::string_view text) {
  return text.find_first_of("iI") != std::string_view::npos;
}

// Reads as fast_float does, in the type asked for: the text is rounded once. A finite text that
// rounds to infinity does not fit; one that rounds to 0 does.
template <class T>
bool ParseFloat(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = fast_float::from_chars(text.data(), end, value);
  if (rest != end || text.empty()) return false;
  if (error != std::errc() && error != std::errc::result_out_of_range) return false;
  return !std::isinf(value) || SaysInfinite(text);
}

bool IsWhole(std::string_view text, DType dtype) {
  uint64_t bits = 0;
  return ParseCsvNumber(text, dtype, bits);
}

// True for numbers below infinity: not for "nan" and "inf", but for "-inf", as TensorFlow's
// _is_valid_float has it.
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
  // Types are tried from the column's own on: a column never goes back to a narrower one.
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

}  // namespace tpuest
