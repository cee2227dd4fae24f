#pragma once
// The commands that look inside: files, runs, steps, the machine. None changes a run.

#include "cli/shell/command.h"

namespace tpuest::cli {

// Exit code 3 where --verify finds damage in a TFRecord file.
[[nodiscard]] Command InspectCommand();
// Exit code 8 where what a run has left is not what its job gives.
[[nodiscard]] Command VerifyCommand();
[[nodiscard]] Command ReplayCommand();
[[nodiscard]] Command BenchCommand();
[[nodiscard]] Command DoctorCommand();
[[nodiscard]] Command CardCommand();
[[nodiscard]] Command ExplainCommand();

}  // namespace tpuest::cli
