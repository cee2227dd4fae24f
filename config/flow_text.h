#pragma once
// A node as YAML flow text: what Raw holds.

#include <string>

#include "config/tree.h"

namespace tpuest::config {

// "[1, 2]", "{a: 1}", "abc", "\"1\"": on one line, strings quoted where plain they would be
// something else.
[[nodiscard]] std::string FlowText(const Node& node);

}  // namespace tpuest::config
