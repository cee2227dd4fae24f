#pragma once
// The commands of the program, in the order of its help.

#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// All commands. They live as long as the program.
[[nodiscard]] const std::vector<Command>& Commands();

// `tpuest version`.
[[nodiscard]] Command VersionCommand();

}  // namespace tpuest::cli
