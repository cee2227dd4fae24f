#pragma once
// JSON as Python writes it, which allows NaN, Infinity and -Infinity as numbers.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tpuest {

// Objects keep the order of their keys in the file.
using KerasJson = nlohmann::ordered_json;

// Parses a text. Throws Error kData, which begins with `place` and gives the position in the text,
// for invalid JSON, for nesting deeper than 200, and for an object with a repeated key or more than
// 1,000 keys.
[[nodiscard]] KerasJson ParseKerasJson(std::string_view text, const std::string& place);

}  // namespace tpuest
