#pragma once
// Reads one JSON value (RFC 8259), token by token. Throws kData for every error, with the scanner
// at its byte. Accepts NaN, Infinity and -Infinity as numbers, as Python writes them.

#include <cstddef>
#include <string>
#include <string_view>

namespace tpuest::data {

class JsonScanner {
 public:
  enum class Kind { kObject, kList, kText, kNumber, kTruth, kNull };

  explicit JsonScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] size_t at() const { return at_; }
  // Moves back to an earlier byte, to report an error of the value there.
  void GoBack(size_t at) { at_ = at; }

  // The kind of the next token, after white space.
  [[nodiscard]] Kind Next();
  // The text without its quotes. Appends a text with escapes, decoded, to `unescaped`, whose
  // reserved size must suffice; the text's size is enough.
  [[nodiscard]] std::string_view Text(std::string& unescaped);
  // The characters of a number, or of true and false.
  [[nodiscard]] std::string_view Word();
  void Null();
  // Skips any value.
  void Skip();

  // Reads a list or object: Begin, then More before each item, which is false after the last; each
  // item of an object is a Key followed by a value.
  void Begin(char bracket);
  [[nodiscard]] bool More(char bracket);
  [[nodiscard]] std::string_view Key(std::string& unescaped);
  // Checks that only white space is left.
  void End();

  [[noreturn]] void Fail(const std::string& message, const std::string& hint = "") const;

 private:
  void SkipSpace();
  void SkipWithin(int depth);
  void Expect(char c);
  void Unescape(std::string& to);
  [[nodiscard]] uint32_t HexDigits();
  [[nodiscard]] std::string Found() const;

  std::string_view text_;
  size_t at_ = 0;
  bool is_first_ = false;  // Begin was the last call
};

}  // namespace tpuest::data
