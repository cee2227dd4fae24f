#pragma once
// The commands that inspect files, runs, steps and the machine. None changes a run.

#include "cli/shell/command.h"

namespace tpuest::cli {

// Exit code 3 if --verify finds damage in a TFRecord file.
[[nodiscard]] Command InspectCommand();
// Exit code 8 if the job does not reproduce the run's results.
[[nodiscard]] Command VerifyCommand();
[[nodiscard]] Command ReplayCommand();
[[nodiscard]] Command BenchCommand();
[[nodiscard]] Command DoctorCommand();
[[nodiscard]] Command CardCommand();
[[nodiscard]] Command ExplainCommand();

}  // namespace tpuest::cli
