#include "cli/commands.h"

#include "cli/completion.h"
#include "cli/look/commands.h"
#include "cli/many/commands.h"
#include "cli/prepare/commands.h"
#include "cli/run/commands.h"

namespace tpuest::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {TrainCommand(),    TrainAndEvaluateCommand(),
                                                 EvaluateCommand(), PredictCommand(),
                                                 ExportCommand(),   RunJobCommand(),
                                                 ValidateCommand(), PlanCommand(),
                                                 ConfigCommand(),   SweepCommand(),
                                                 PlotCommand(),     AverageCommand(),
                                                 CompareCommand(),  InitCommand(),
                                                 ConvertCommand(),  InspectCommand(),
                                                 ListCommand(),     CopyCommand(),
                                                 DeployCommand(),   CompletionCommand(),
                                                 VerifyCommand(),   ReplayCommand(),
                                                 BenchCommand(),    MigrateCommand(),
                                                 DoctorCommand(),   VersionCommand()};
  return kCommands;
}

}  // namespace tpuest::cli
