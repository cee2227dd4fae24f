#pragma once
// Regular expressions in the syntax of Perl and Python (with lookahead, without code), matched in
// bounded time.

#include <memory>
#include <string>
#include <string_view>

namespace tpuest {

// Cheap to copy; matching is safe in any thread.
class Pattern {
 public:
  // Throws kUsage for an invalid regular expression.
  explicit Pattern(std::string_view text);

  // Python's re.search and re.match on bytes. Both throw kUsage if the pattern takes more steps on
  // this text than a limit: "(a+)+[bc]" takes 2^n steps on n times "a".
  [[nodiscard]] bool FoundIn(std::string_view text) const;
  [[nodiscard]] bool FoundAtStart(std::string_view text) const;

 private:
  struct Compiled;
  [[nodiscard]] bool Found(std::string_view text, unsigned options) const;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tpuest
