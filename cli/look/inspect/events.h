#pragma once
// tpuest inspect shows event files.

#include <string>
#include <vector>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// Prints a line a tag on stdout: what it is, how many values, its steps, the last value. --json:
// {kind: "events", tags: {<tag>: [[step, value], ...]}, types: {<tag>: "scalar"}, damaged}; the
// value of a tag that is no scalar is null. Returns exit code 0, where a file is damaged, too: that
// is said, and the rest of the file not read.
int ShowEvents(const Invocation& invocation, const std::vector<std::string>& files);

}  // namespace tpuest::cli
