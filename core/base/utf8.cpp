#include "core/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace tpuest {
namespace {

bool Continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Returns the size of the character at the start of the text; 0 if it is invalid by table 3-7 of
// the Unicode standard: no overlong forms, no surrogates, nothing past U+10FFFF.
size_t CharacterBytes(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < bytes) return 0;
  const std::string_view rest = text.substr(1, bytes - 1);
  if (!std::all_of(rest.begin(), rest.end(), Continues)) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return bytes;
}

}  // namespace

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CharacterBytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

int CountCharacters(std::string_view bytes) {
  return static_cast<int>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return !Continues(c); }));
}

void AppendUtf8(char32_t point, std::string& text) {
  const auto bits = static_cast<uint32_t>(point);
  if (bits < 0x80) {
    text.push_back(static_cast<char>(bits));
    return;
  }
  constexpr uint32_t kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  const uint32_t more = bits < 0x800 ? 1 : bits < 0x10000 ? 2 : 3;
  text.push_back(static_cast<char>(kFirst[more] | bits >> (6 * more)));
  for (uint32_t left = more; left-- > 0;) {
    text.push_back(static_cast<char>(0x80U | (bits >> (6 * left) & 0x3FU)));
  }
}

}  // namespace tpuest
