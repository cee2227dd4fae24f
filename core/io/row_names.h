#pragma once
// The names of a bundle's entries for a table with only some of its rows: the row numbers, and the
// values of each variable in these rows.

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
