#pragma once
// The commands of the program, in the order of its help.

#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// All commands. They live as long as the program.
[[nodiscard]] const std::vector<Command>& Commands();

// `tpuest help` and `tpuest version`.
[[nodiscard]] Command HelpCommand();
[[nodiscard]] Command VersionCommand();

// The words that `tpuest help` knows: commands, kinds, types, keys.
[[nodiscard]] std::vector<std::string> HelpWords();

}  // namespace tpuest::cli
