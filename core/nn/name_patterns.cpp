#include "core/nn/name_patterns.h"

#include <algorithm>
#include <regex>

#include "core/base/error.h"

namespace tpuest::nn {

struct NamePatterns::Compiled {
  std::vector<std::regex> patterns;
};

NamePatterns::NamePatterns(const std::vector<std::string>& patterns) {
  const auto compiled = std::make_shared<Compiled>();
  for (const std::string& pattern : patterns) {
    try {
      compiled->patterns.emplace_back(pattern);
    } catch (const std::regex_error&) {
      throw Error(Code::kUsage, fmt::format("'{}' is not a regular expression", pattern),
                  "variables are picked by patterns such as 'dense.*' or '.*/bias'");
    }
  }
  compiled_ = compiled;
}

bool NamePatterns::Match(std::string_view name) const {
  return std::ranges::any_of(compiled_->patterns, [name](const std::regex& pattern) {
    return std::regex_search(name.begin(), name.end(), pattern);
  });
}

}  // namespace tpuest::nn
