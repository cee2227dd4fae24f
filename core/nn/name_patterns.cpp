#include "core/nn/name_patterns.h"

#include <algorithm>

namespace tpuest::nn {

NamePatterns::NamePatterns(const std::vector<std::string>& patterns)
    : patterns_(patterns.begin(), patterns.end()) {}

bool NamePatterns::Match(std::string_view name) const {
  return std::ranges::any_of(patterns_, [name](const Pattern& p) { return p.FoundIn(name); });
}

}  // namespace tpuest::nn
