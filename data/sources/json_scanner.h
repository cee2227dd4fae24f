#pragma once
// Reads one JSON value (RFC 8259), token by token. Every fault is an Error kData, with the scanner
// at its byte; NaN, Infinity and -Infinity are numbers, as Python writes them.

#include <cstddef>
#include <string>
#include <string_view>

namespace tpuest::data {

class JsonScanner {
 public:
  enum class Kind { kObject, kList, kText, kNumber, kTruth, kNull };

  explicit JsonScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] size_t at() const { return at_; }
  // Points at an earlier byte, for a fault of the value there.
  void GoBack(size_t at) { at_ = at; }

  // What comes next, behind white space.
  [[nodiscard]] Kind Next();
  // The text without its quotes. Escapes are undone into `unescaped`, at its end, which must not
  // grow beyond what is reserved: the text's size is enough.
  [[nodiscard]] std::string_view Text(std::string& unescaped);
  // The characters of a number, or of true and false.
  [[nodiscard]] std::string_view Word();
  void Null();
  // Any value.
  void Skip();

  // A list or object: Begin, then More before each item, false behind the last; in an object each
  // item is a Key and a value.
  void Begin(char bracket);
  [[nodiscard]] bool More(char bracket);
  [[nodiscard]] std::string_view Key(std::string& unescaped);
  // Nothing but white space is left.
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
