#pragma once
// tpuest inspect of a TFRecord file.

#include <string>

#include "cli/look/inspect/invocation.h"

namespace tpuest::cli {

// How many records, what is in the first, and the parse_example that reads them; with --verify all
// damage there is, and exit code 3 for any. --json: {kind: "tfrecord", path, records, bytes,
// compression, parse_example, head, damaged}.
int ShowRecords(const InspectInvocation& invocation, const std::string& path);

}  // namespace tpuest::cli
