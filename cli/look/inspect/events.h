#pragma once
// tpuest inspect shows event files.

#include <string>
#include <vector>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// Prints a line per tag to stdout: its type, number of values, steps and last value. --json: {kind:
// "events", tags: {<tag>: [[step, value], ...]}, types: {<tag>: "scalar"}, damaged}; the value of a
// tag that is not a scalar is null. Returns exit code 0 even for a damaged file: the damage is
// reported, and the rest of the file is not read.
int ShowEvents(const Invocation& invocation, const std::vector<std::string>& files);

}  // namespace tpuest::cli
