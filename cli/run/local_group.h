#pragma once
// A group of processes on this machine, that does what one job says: run --processes N.

#include <string>
#include <vector>

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Starts `processes` of `command` (train, train-and-evaluate, evaluate, predict) as this invocation
// says, with `flags` that the command alone has and an even share of the threads each, waits for
// them and returns the chief's exit code; where the chief was killed the others' verdict. The chief
// speaks here; what a worker says is shown where the chief could not. Signals that ask to stop go
// to the chief. Error kUsage where the replicas do not divide, where the command runs on one of
// them, and where this process is one of several itself.
int RunLocalGroup(const Invocation& invocation, const std::string& command,
                  const std::vector<std::string>& flags, int processes, config::Sources& sources);

}  // namespace tpuest::cli
