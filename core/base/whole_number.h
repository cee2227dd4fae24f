#pragma once
// Parses whole numbers.

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace tpuest {

// The number that the whole text denotes: decimal digits, with a '-' in front if the type is
// signed. nullopt for any other text and for a number outside of the type's range.
template <std::integral T>
[[nodiscard]] std::optional<T> WholeNumber(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace tpuest
