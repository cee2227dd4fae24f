#pragma once
// Interprets plain YAML scalars, and writes strings that are read back as strings. The rules are
// those of YAML 1.2's core schema, except for leading zeros and rationals.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tpuest::config {

// An integer of any 64-bit type, with or without a sign.
struct Integer {
  bool negative = false;
  uint64_t magnitude = 0;
};

// An integer's value: "3", "-3", "1e4", "1.5e3", "0x1f", "0o17"; nullopt for "010", "3.0", "1e-4".
[[nodiscard]] std::optional<Integer> ParseInteger(std::string_view text);

// A number's value: an integer, "0.1", ".5", "1e-4", "1/255", ".inf", "-.inf", ".nan"; nullopt for
// "010", "inf", "1e999".
[[nodiscard]] std::optional<double> ParseNumber(std::string_view text);

// Return a hint for a text that is nearly a number or a boolean; empty if none applies.
[[nodiscard]] std::string NumberHint(std::string_view text);
[[nodiscard]] std::string BoolHint(std::string_view text);

// True for "", "~", "null", "Null", "NULL".
[[nodiscard]] bool IsNullText(std::string_view text);

// Returns the string as YAML for flow or block context: plain if every reader of YAML 1.1 and 1.2
// reads it as that string, otherwise in double quotes.
[[nodiscard]] std::string StringText(std::string_view text);
[[nodiscard]] std::string QuotedText(std::string_view text);

// True if a plain scalar means something other than a string: a number, a period, a boolean, null.
[[nodiscard]] bool IsTypedText(std::string_view text);

}  // namespace tpuest::config
