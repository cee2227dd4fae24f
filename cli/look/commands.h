#pragma once
// What looks inside.

#include "cli/shell/command.h"

namespace tpuest::cli {

[[nodiscard]] Command InspectCommand();
[[nodiscard]] Command VerifyCommand();
[[nodiscard]] Command ReplayCommand();
[[nodiscard]] Command BenchCommand();
[[nodiscard]] Command DoctorCommand();

}  // namespace tpuest::cli
