#pragma once
// Bounds the length of messages that quote the user's input, which may be long.

#include <string>

namespace tpuest::cli {

inline constexpr size_t kMostMessage = 1000;  // bytes

// Returns at most kMostMessage bytes of UTF-8, cut between characters, with "..." if the text was
// cut.
[[nodiscard]] inline std::string CutMessage(std::string text) {
  if (text.size() <= kMostMessage) return text;
  size_t end = kMostMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

}  // namespace tpuest::cli
