#pragma once
// The job of a command: from a file or a run, with the flags as overrides.

#include <string_view>

#include "cli/job/job_fwd.h"
#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// evaluate --checkpoint all: each of the run's checkpoints, oldest first.
inline constexpr std::string_view kAllCheckpoints = "all";

// Whether the command trains: `train` or `train-and-evaluate`.
[[nodiscard]] inline bool Trains(const Invocation& invocation) {
  return invocation.command.starts_with("train");
}

// Throws Error kUsage if a word is neither a job file nor KEY=VALUE.
void CheckNoArguments(const Invocation& invocation);

// Returns the job of an invocation with its flags as overrides, from the job file or from the run
// that --checkpoint or --model-dir names. Error kUsage with every fault, kCheckpoint if the run or
// its checkpoint does not exist.
[[nodiscard]] LoadedJob LoadInvocationJob(const Invocation& invocation, config::Sources& sources);

}  // namespace tpuest::cli
