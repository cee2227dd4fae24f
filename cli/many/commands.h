#pragma once
// The commands that start or read many runs.

#include "cli/shell/command.h"

namespace tpuest::cli {

// The exit code of a sweep is that of its first trial that is not done; 6 where that was killed by
// SIGKILL.
[[nodiscard]] Command SweepCommand();
[[nodiscard]] Command PlotCommand();
[[nodiscard]] Command AverageCommand();
// Exit code 0 where runs differ, too: the document says so.
[[nodiscard]] Command CompareCommand();
[[nodiscard]] Command ListCommand();

}  // namespace tpuest::cli
