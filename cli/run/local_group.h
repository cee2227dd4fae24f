#pragma once
// Runs one job in a group of processes on this machine: run --processes N.

#include <string>
#include <vector>

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Starts `processes` processes of `command` (train, train-and-evaluate, evaluate, predict) with
// this invocation's flags, with `flags`, which only that command has, and with an even share of the
// threads each. Waits for them and returns the chief's exit code, or a worker's if the chief was
// killed. The chief writes to this process's output; a worker's error is shown only if the chief
// was killed. Stop signals are passed on to the chief. Error kUsage if the replicas do not divide
// evenly over the processes, if the command runs on one replica, and if this process is itself part
// of a group.
int RunLocalGroup(const Invocation& invocation, const std::string& command,
                  const std::vector<std::string>& flags, int processes, config::Sources& sources);

}  // namespace tpuest::cli
