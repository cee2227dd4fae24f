#include "cli/commands.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "cli/completion.h"
#include "cli/look/commands.h"
#include "cli/many/commands.h"
#include "cli/prepare/commands.h"
#include "cli/run/commands.h"

namespace tpuest::cli {
namespace {

struct CommandGroup {
  std::string_view title;
  std::initializer_list<Command> commands;
};

std::vector<Command> InGroups(std::initializer_list<CommandGroup> groups) {
  std::vector<Command> commands;
  for (const CommandGroup& group : groups) {
    for (Command command : group.commands) {
      command.group = group.title;
      commands.push_back(std::move(command));
    }
  }
  return commands;
}

}  // namespace

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands =
      InGroups({{"Start here", {InitCommand(), CopyCommand(), MigrateCommand(), ConvertCommand()}},
                {"Run",
                 {TrainCommand(), TrainAndEvaluateCommand(), EvaluateCommand(), PredictCommand(),
                  ExportCommand(), RunJobCommand()}},
                {"Look",
                 {ValidateCommand(), PlanCommand(), ConfigCommand(), InspectCommand(),
                  ListCommand(), ExplainCommand(), CardCommand(), HelpCommand()}},
                {"Many runs", {SweepCommand(), CompareCommand(), PlotCommand(), AverageCommand()}},
                {"Look after",
                 {VerifyCommand(), ReplayCommand(), BenchCommand(), DoctorCommand(),
                  DeployCommand(), CompletionCommand(), VersionCommand()}}});
  return kCommands;
}

}  // namespace tpuest::cli
