#pragma once
// tpuest inspect shows a TFRecord file.

#include <string>

#include "cli/look/inspect/invocation.h"

namespace tpuest::cli {

// Prints on stdout how many records there are, what is in the first --head, and the parse_example
// that reads them; --json: {kind: "tfrecord", path, records, bytes, compression, parse_example,
// head, damaged}. With --verify it continues after damage, lists all of it, and returns exit code 3
// if it finds any; without --verify, damage is Error kData. Otherwise the exit code is 0.
int ShowRecords(const InspectInvocation& invocation, const std::string& path);

}  // namespace tpuest::cli
