#pragma once
// The names of a bundle's entries for a table that has only some of its rows: the row numbers, and
// each variable's values in these rows.

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
