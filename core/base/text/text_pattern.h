#pragma once
// TensorFlow's regular expressions, which are RE2's: no lookahead and no backreferences, so a match
// takes time proportional to the text. Texts are UTF-8.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tpuest {

// Cheap to copy; matching is safe in any thread.
class TextPattern {
 public:
  // Throws kUsage for an invalid regular expression, and in a build without RE2.
  explicit TextPattern(std::string_view pattern);

  // True if the pattern matches the whole text.
  [[nodiscard]] bool Matches(std::string_view text) const;
  // The text with its first match, or all non-overlapping matches, rewritten: "\1" is the text of
  // the first group, "\0" the match, "\\" a backslash. Throws kResource for a result of more than
  // kMostReplacedBytes, and if a signal interrupts it.
  static constexpr size_t kMostReplacedBytes = size_t{1} << 28;  // 256 MiB
  [[nodiscard]] std::string Replaced(std::string_view text, std::string_view rewrite,
                                     bool all) const;
  // Throws kUsage for an invalid rewrite, or one that names a group that does not exist.
  void CheckRewrite(std::string_view rewrite) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tpuest
