#pragma once
// What a message quotes of the user's may be of any length; a message is not.

#include <string>

namespace tpuest::cli {

inline constexpr size_t kMostMessage = 1000;  // bytes

// At most kMostMessage bytes of UTF-8, in front of a character, and "..." where something is left
// out.
[[nodiscard]] inline std::string CutMessage(std::string text) {
  if (text.size() <= kMostMessage) return text;
  size_t end = kMostMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

}  // namespace tpuest::cli
