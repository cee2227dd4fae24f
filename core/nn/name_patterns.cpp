#include "core/nn/name_patterns.h"

#include <algorithm>

#include "core/base/error.h"

namespace tpuest::nn {

NamePatterns::NamePatterns(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    try {
      patterns_.emplace_back(pattern);
    } catch (const std::regex_error&) {
      throw Error(Code::kUsage, fmt::format("'{}' is not a regular expression", pattern),
                  "variables are picked by patterns such as 'dense.*' or '.*/bias'");
    }
  }
}

bool NamePatterns::Match(std::string_view name) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [name](const std::regex& pattern) {
    return std::regex_search(name.begin(), name.end(), pattern);
  });
}

}  // namespace tpuest::nn
