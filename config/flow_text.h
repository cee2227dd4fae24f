#pragma once
// A node as YAML flow text: what Raw holds.

#include <string>

#include "config/tree.h"

namespace tpuest::config {

// The node on one line, "[1, 2]", "{a: 1}", "abc", "\"1\"": strings are quoted where plain they
// would be something else.
[[nodiscard]] std::string FlowText(const Node& node);

}  // namespace tpuest::config
