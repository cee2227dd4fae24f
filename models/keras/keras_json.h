#pragma once
// JSON as Python writes it: NaN, Infinity and -Infinity are numbers.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tpuest {

// Objects keep the order in which their keys stand in the file.
using KerasJson = nlohmann::ordered_json;

// The value of a text. Error kData, which begins with `place` and says where in the text, for one
// that is not JSON, is nested more than 200 deep, or has an object of one key twice or of more than
// 1,000.
[[nodiscard]] KerasJson ParseKerasJson(std::string_view text, const std::string& place);

}  // namespace tpuest
