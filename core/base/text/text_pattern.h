#pragma once
// TensorFlow's regular expressions, which are RE2's: no lookahead and no references back, so that a
// match takes time in proportion to the text. Texts are UTF-8.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tpuest {

// Cheap to copy; matching is safe in any thread.
class TextPattern {
 public:
  // Throws Error kUsage for what is not a regular expression, and in a build without RE2.
  explicit TextPattern(std::string_view pattern);

  // True if the pattern is about the whole text.
  [[nodiscard]] bool Matches(std::string_view text) const;
  // The text with its first match, or with all that do not overlap, rewritten: "\1" is what the
  // first parenthesis matched, "\0" the match, "\\" a backslash. Throws Error kResource for more
  // than kMostReplacedBytes, and where a signal interrupts it.
  static constexpr size_t kMostReplacedBytes = size_t{1} << 28;  // 256 MiB
  [[nodiscard]] std::string Replaced(std::string_view text, std::string_view rewrite,
                                     bool all) const;
  // Throws Error kUsage for a rewrite that is none, or that names a parenthesis that is not there.
  void CheckRewrite(std::string_view rewrite) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tpuest
