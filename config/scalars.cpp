#include "config/scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/base/text.h"

namespace tpuest::config {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A decimal number in its parts: sign, digits before and after the point, exponent.
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  bool has_point = false;
  std::optional<int> exponent;
  std::string_view unsigned_text;
};

std::string_view TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool TakeSign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

// The exponent after `e`; nullopt if there is none. Exponents past 9999 read as 9999.
std::optional<int> TakeExponent(std::string_view& text) {
  const bool negative = TakeSign(text);
  const std::string_view digits = TakeDigits(text);
  if (digits.empty()) return std::nullopt;
  int value = 0;
  for (const char c : digits) value = std::min(value * 10 + (c - '0'), 9999);
  return negative ? -value : value;
}

// Parses decimal numbers of YAML's core schema, without leading zeros: "010" is 8 in YAML 1.1 and
// 10 in YAML 1.2, so it is refused.
std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal number;
  number.negative = TakeSign(text);
  number.unsigned_text = text;
  number.whole = TakeDigits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    number.has_point = true;
    number.fraction = TakeDigits(text);
  }
  if (number.whole.empty() && number.fraction.empty()) return std::nullopt;
  if (number.whole.size() > 1 && number.whole[0] == '0') return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    number.exponent = TakeExponent(text);
    if (!number.exponent) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return number;
}

bool AppendDigit(uint64_t& value, int digit) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  if (value > (kMax - static_cast<uint64_t>(digit)) / 10) return false;
  value = value * 10 + static_cast<uint64_t>(digit);
  return true;
}

// The value of digits * 10^exponent, if it is an integer that fits.
std::optional<uint64_t> Scaled(std::string digits, int exponent) {
  while (exponent < 0 && digits.ends_with('0')) {
    digits.pop_back();
    ++exponent;
  }
  uint64_t value = 0;
  for (const char c : digits) {
    if (!AppendDigit(value, c - '0')) return std::nullopt;
  }
  if (value == 0) return 0;
  if (exponent < 0) return std::nullopt;
  for (; exponent > 0; --exponent) {
    if (!AppendDigit(value, 0)) return std::nullopt;
  }
  return value;
}

// Parses "0x1f" and "0o17" without a sign, as in YAML 1.2.
std::optional<Integer> ParseBased(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : text.starts_with("0o") ? 8 : 0;
  if (base == 0) return std::nullopt;
  text.remove_prefix(2);
  Integer integer;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), integer.magnitude, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return integer;
}

std::optional<double> DecimalValue(std::string_view text) {
  const std::optional<Decimal> number = ParseDecimal(text);
  if (!number) return std::nullopt;
  const std::string_view digits = number->unsigned_text;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return std::nullopt;
  return number->negative ? -value : value;
}

// Parses a rational number such as "1/255"; the quotient is rounded once.
std::optional<double> RationalValue(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<double> above = DecimalValue(text.substr(0, slash));
  const std::optional<double> below = DecimalValue(text.substr(slash + 1));
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

std::optional<double> SpecialValue(std::string_view text) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool negative = TakeSign(text);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return negative ? -kInf : kInf;
  return std::nullopt;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

bool IsBoolWord(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords = {"true", "false", "yes", "no",
                                                             "on",   "off",   "y",   "n"};
  return std::find(kWords.begin(), kWords.end(), Lower(text)) != kWords.end();
}

// True for "010" and "-007.5".
bool HasLeadingZeros(std::string_view text) {
  TakeSign(text);
  return text.size() > 1 && text[0] == '0' && IsDigit(text[1]);
}

}  // namespace

std::optional<Integer> ParseInteger(std::string_view text) {
  if (const std::optional<Integer> based = ParseBased(text)) return based;
  const std::optional<Decimal> number = ParseDecimal(text);
  if (!number || (number->has_point && !number->exponent)) return std::nullopt;
  const std::string digits = std::string(number->whole) + std::string(number->fraction);
  const int scale = number->exponent.value_or(0) - static_cast<int>(number->fraction.size());
  const std::optional<uint64_t> magnitude = Scaled(digits, scale);
  if (!magnitude) return std::nullopt;
  return Integer{number->negative, *magnitude};
}

std::optional<double> ParseNumber(std::string_view text) {
  if (const std::optional<double> decimal = DecimalValue(text)) return decimal;
  if (const std::optional<Integer> based = ParseBased(text)) {
    return static_cast<double>(based->magnitude);
  }
  if (const std::optional<double> special = SpecialValue(text)) return special;
  return RationalValue(text);
}

std::string NumberHint(std::string_view text) {
  std::string_view digits = text;
  const std::string sign = TakeSign(digits) ? "-" : "";
  if (HasLeadingZeros(text)) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return fmt::format("did you mean '{}{}'?", sign, digits);
  }
  const std::string word = Lower(digits);
  if (word == "inf" || word == "infinity") return fmt::format("did you mean '{}.inf'?", sign);
  if (word == "nan") return "did you mean '.nan'?";
  std::string bare;
  for (const char c : text) {
    if (c != '_' && c != ',') bare += c;
  }
  if (bare != text && ParseNumber(bare)) return fmt::format("did you mean '{}'?", bare);
  const std::optional<Decimal> number = ParseDecimal(text);
  const bool whole = number && !number->has_point && !number->exponent;
  return whole && !ParseInteger(text) ? "the number does not fit in 64 bits" : "";
}

std::string BoolHint(std::string_view text) {
  const std::string word = Lower(text);
  if (!IsBoolWord(word) && word != "1" && word != "0") return "";
  const bool value = word == "true" || word == "yes" || word == "on" || word == "y" || word == "1";
  return value ? "did you mean 'true'?" : "did you mean 'false'?";
}

bool IsNullText(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

bool IsTypedText(std::string_view text) {
  return IsNullText(text) || IsBoolWord(text) || HasLeadingZeros(text) || ParseNumber(text) ||
         ParsePeriod(text) || !NumberHint(text).empty();
}

std::string StringText(std::string_view text) {
  const auto plain = [](char c) {
    return IsLetter(c) || IsDigit(c) || std::string_view("_./-+*@= ").find(c) != std::string::npos;
  };
  // Fewer characters are allowed at the start than inside.
  const bool starts = !text.empty() && (IsLetter(text[0]) || IsDigit(text[0]) || text[0] == '_' ||
                                        text[0] == '/' || text[0] == '.');
  const bool safe = starts && text.back() != ' ' && std::all_of(text.begin(), text.end(), plain) &&
                    !text.starts_with("...");
  return safe && !IsTypedText(text) ? std::string(text) : QuotedText(text);
}

std::string QuotedText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace tpuest::config
