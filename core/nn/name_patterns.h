#pragma once
// Regular expressions that pick variables by name.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/pattern.h"

namespace tpuest::nn {

// A name matches if it contains a match of any pattern (as Python's re.search).
class NamePatterns {
 public:
  // Throws Error kUsage for an invalid regular expression.
  explicit NamePatterns(const std::vector<std::string>& patterns);
  // Throws Error kUsage for a pattern that takes too long to match.
  [[nodiscard]] bool Match(std::string_view name) const;

 private:
  std::vector<Pattern> patterns_;
};

}  // namespace tpuest::nn
