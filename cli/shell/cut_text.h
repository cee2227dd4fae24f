#pragma once
// What a message quotes of the user's may be of any length; a message is not.

#include <string>

namespace tpuest::cli {

// At most so many bytes of UTF-8, in front of a character, and "..." where something is left out.
[[nodiscard]] inline std::string CutText(std::string text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

}  // namespace tpuest::cli
