#pragma once
// The commands that a person uses before a run.

#include "cli/shell/command.h"

namespace tpuest::cli {

[[nodiscard]] Command ValidateCommand();
[[nodiscard]] Command PlanCommand();
[[nodiscard]] Command ConfigCommand();
[[nodiscard]] Command InitCommand();
[[nodiscard]] Command ConvertCommand();
[[nodiscard]] Command CopyCommand();
[[nodiscard]] Command MigrateCommand();

}  // namespace tpuest::cli
