#pragma once
// Regular expressions that pick variables by name.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::nn {

// A name matches if some pattern is found in it (as Python's re.search).
class NamePatterns {
 public:
  // Throws Error kUsage for what is not a regular expression.
  explicit NamePatterns(const std::vector<std::string>& patterns);
  [[nodiscard]] bool Match(std::string_view name) const;

 private:
  struct Compiled;  // <regex> is much to read for every header that has patterns
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tpuest::nn
