#pragma once
// A node as YAML flow text: what Raw holds.

#include <string>

#include "config/tree.h"

namespace tpuest::config {

// Returns the node on one line, "[1, 2]", "{a: 1}", "abc", "\"1\"": strings are quoted if they
// would otherwise be read as another type.
[[nodiscard]] std::string FlowText(const Node& node);

}  // namespace tpuest::config
