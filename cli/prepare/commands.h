#pragma once
// The commands that a person uses before a run.

#include "cli/shell/command.h"

namespace tpuest::cli {

// Exit code 2 with every fault of the job.
[[nodiscard]] Command ValidateCommand();
// Exit code 8 where --compile finds that the step does not fit.
[[nodiscard]] Command PlanCommand();
[[nodiscard]] Command ConfigCommand();
[[nodiscard]] Command InitCommand();
[[nodiscard]] Command ConvertCommand();
[[nodiscard]] Command CopyCommand();
[[nodiscard]] Command DeployCommand();
// Exit code 4 where the checkpoint holds no model that a job has, and where the job, which is
// written all the same, does not fit it.
[[nodiscard]] Command MigrateCommand();

}  // namespace tpuest::cli
