#pragma once
// The commands that start or read many runs.

#include "cli/shell/command.h"

namespace tpuest::cli {

[[nodiscard]] Command SweepCommand();
[[nodiscard]] Command PlotCommand();
[[nodiscard]] Command AverageCommand();
[[nodiscard]] Command CompareCommand();
[[nodiscard]] Command ListCommand();

}  // namespace tpuest::cli
