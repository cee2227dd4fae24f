#pragma once
// The commands that start or read many runs.

#include "cli/shell/command.h"

namespace tpuest::cli {

// The exit code of a sweep is that of its first unfinished trial; 6 if SIGKILL killed it.
[[nodiscard]] Command SweepCommand();
[[nodiscard]] Command PlotCommand();
[[nodiscard]] Command AverageCommand();
// Exit code 0 even if runs differ: the document has the differences.
[[nodiscard]] Command CompareCommand();
[[nodiscard]] Command ListCommand();

}  // namespace tpuest::cli
