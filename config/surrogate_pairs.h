#pragma once
// JSON's way to write a character above U+FFFF: two escapes in double quotes, "\ud83d\ude00". YAML
// 1.2 takes JSON, yaml-cpp takes \U0001f600 only.

#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_text.h"

namespace tpuest::config {

// Surrogate pairs in the double-quoted texts of a document, and the same document with one escape
// in place of each pair. A pair has 12 bytes, its escape 10.
class SurrogatePairs {
 public:
  // Throws Error kUsage at the first surrogate that has no other half. `quotes` are the bytes at
  // which double quotes open, ascending.
  SurrogatePairs(const YamlText& yaml, const std::vector<size_t>& quotes);
  SurrogatePairs() = default;

  // The document for yaml-cpp.
  [[nodiscard]] std::string Joined(std::string_view text) const;
  // The byte of the text at a byte of a line of Joined: `line_start` is the line's in the text.
  [[nodiscard]] size_t Offset(size_t line_start, size_t column) const;

 private:
  void ReadQuoted(const YamlText& yaml, size_t quote);

  std::vector<size_t> pairs_;  // where each begins in the text, ascending
};

// True if an escape of a surrogate stands anywhere in the text, in quotes or not.
[[nodiscard]] bool HasSurrogateEscape(std::string_view text);

// The text with escapes of blanks in place of those of surrogates: yaml-cpp reads it, and nothing
// moves.
[[nodiscard]] std::string WithoutSurrogates(std::string_view text);

}  // namespace tpuest::config
