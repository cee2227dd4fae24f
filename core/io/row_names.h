#pragma once
// How a bundle names a table of which it has some rows alone: their numbers, and the values in them
// of each of its variables.

#include <string>
#include <string_view>

namespace tpuest {

inline constexpr std::string_view kRowKeysEnding = "-keys";
inline constexpr std::string_view kRowValuesEnding = "-values";

[[nodiscard]] inline std::string RowKeysName(std::string_view table) {
  return std::string(table) + std::string(kRowKeysEnding);
}
[[nodiscard]] inline std::string RowValuesName(std::string_view variable) {
  return std::string(variable) + std::string(kRowValuesEnding);
}

}  // namespace tpuest
