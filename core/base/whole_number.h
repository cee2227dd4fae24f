#pragma once
// Whole numbers as text.

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace tpuest {

// The number that the whole text is, in decimal digits, with a '-' before them where the type has
// negative numbers; nullopt for any other text, and for a number that the type does not hold.
template <std::integral T>
[[nodiscard]] std::optional<T> WholeNumber(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace tpuest
