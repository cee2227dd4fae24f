#pragma once
// A YAML text with its lines, to compute places: yaml-cpp counts bytes, readers count characters.

#include <string>
#include <string_view>
#include <vector>

#include "config/tree.h"

namespace tpuest::config {

class YamlText {
 public:
  // A whole file, checked by CheckEncoding and with normalised newlines.
  YamlText(std::string text, std::string file);
  // An argument: every place is in one line. `text` may differ from the written text in its bytes,
  // but has the same length.
  YamlText(std::string text, const Place& argument, std::string_view written);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string_view Line(int line) const;  // from 0; "" past the end

  // Returns the byte at a line and column, both from 0 and in bytes, as yaml-cpp counts; positions
  // past the end give the end.
  [[nodiscard]] size_t Offset(int line, int column) const;
  // Returns the place of a byte for messages: line and column from 1, in characters.
  [[nodiscard]] Place PlaceOf(size_t offset) const;

  // Returns the byte where the value begins after properties (`&name`) at the offset, if it is in
  // the same line; otherwise the offset.
  [[nodiscard]] size_t SkipAnchor(size_t offset) const;
  // The width in characters up to the end of the quotes that open at the offset, or of the line; 0
  // if the quotes never close.
  [[nodiscard]] int QuotedWidth(size_t offset) const;
  // The width in characters of a plain scalar on its first line.
  [[nodiscard]] int PlainWidth(size_t offset, std::string_view value) const;

 private:
  void FindLines();

  std::string text_;
  std::vector<size_t> starts_;  // of the lines
  std::string file_;
  bool argument_ = false;
  int argument_line_ = 0;
  std::string written_;
};

// The text without a byte order mark, with "\n" at the end of each line.
[[nodiscard]] std::string NormalisedText(std::string_view text);

// Throws Error kUsage, with its place, at the first byte that is not UTF-8 or is a control
// character.
void CheckEncoding(const YamlText& text);

// JSON writes a character above U+FFFF as two escapes in double quotes, "\ud83d\ude00". YAML 1.2
// accepts JSON; yaml-cpp accepts only \U0001f600.
//
// Finds surrogate pairs in the double-quoted texts of a document, and returns the document with one
// escape for each pair. A pair has 12 bytes, its escape 10.
class SurrogatePairs {
 public:
  // Throws Error kUsage at the first surrogate without its other half. `quotes` are the bytes at
  // which double quotes open, ascending.
  SurrogatePairs(const YamlText& yaml, const std::vector<size_t>& quotes);
  SurrogatePairs() = default;

  // The document for yaml-cpp.
  [[nodiscard]] std::string Joined(std::string_view text) const;
  // Returns the byte of the text at a byte of a line of Joined; `line_start` is the start of the
  // line in the text.
  [[nodiscard]] size_t Offset(size_t line_start, size_t column) const;

 private:
  void ReadQuoted(const YamlText& yaml, size_t quote);

  std::vector<size_t> pairs_;  // where each begins in the text, ascending
};

// Returns true if the text has an escape of a surrogate anywhere, in quotes or not.
[[nodiscard]] bool HasSurrogateEscape(std::string_view text);

// Returns the text with each escape of a surrogate replaced by the escape of a space, which
// yaml-cpp accepts and which moves nothing.
[[nodiscard]] std::string WithoutSurrogates(std::string_view text);

}  // namespace tpuest::config
