#pragma once
// The parts of UTF-8 that places, carets and escapes need.

#include <cstddef>
#include <string>
#include <string_view>

namespace tpuest {

// Returns the first byte that is not valid UTF-8, or npos.
[[nodiscard]] size_t FindInvalidUtf8(std::string_view text);

// The number of characters (code points) that start in the bytes.
[[nodiscard]] int CountCharacters(std::string_view bytes);

// Appends the bytes of a code point.
void AppendUtf8(char32_t point, std::string& text);

}  // namespace tpuest
