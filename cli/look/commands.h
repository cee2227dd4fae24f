#pragma once
// The commands that look inside: files, runs, steps, the machine. None changes a run.

#include "cli/shell/command.h"

namespace tpuest::cli {

[[nodiscard]] Command InspectCommand();
[[nodiscard]] Command VerifyCommand();
[[nodiscard]] Command ReplayCommand();
[[nodiscard]] Command BenchCommand();
[[nodiscard]] Command DoctorCommand();

}  // namespace tpuest::cli
