#pragma once
// UTF-8 as far as places and carets need it.

#include <cstddef>
#include <string_view>

namespace tpuest {

// The byte where the text stops being UTF-8, or npos.
[[nodiscard]] size_t FindInvalidUtf8(std::string_view text);

// The number of characters (code points) that start in the bytes.
[[nodiscard]] int CountCharacters(std::string_view bytes);

}  // namespace tpuest
