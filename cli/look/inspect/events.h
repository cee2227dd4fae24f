#pragma once
// tpuest inspect of event files.

#include <string>
#include <vector>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// A line a tag: what it is, how many values, its steps, the last value. --json: {kind: "events",
// tags: {<tag>: [[step, value], ...]}, types: {<tag>: "scalar"}, damaged}; only scalars have a
// value.
int ShowEvents(const Invocation& invocation, const std::vector<std::string>& files);

}  // namespace tpuest::cli
