// tpuest run JOB.yaml: what the job's `mode:` says

#include "cli/commands.h"
#include "cli/session.h"

namespace tpuest::cli {

int RunJob(const Invocation& invocation) {
  std::string mode;
  const int exit_code = Guarded(invocation, [&](config::Sources& sources) {
    const LoadedJob loaded = LoadInvocationJob(invocation, sources);
    if (!loaded.job.mode) {
      throw Error(Code::kUsage, "the job has no mode",
                  "mode: train, or name the command: tpuest train ...");
    }
    mode = *loaded.job.mode;
    return 0;
  });
  if (exit_code != 0) return exit_code;
  Invocation named = invocation;
  named.command = mode == "train_and_evaluate" ? "train-and-evaluate" : mode;
  named.directory.reset();  // already there
  for (const Command& command : Commands()) {
    if (command.name == named.command) return command.run(named);
  }
  return static_cast<int>(Code::kInternal);
}

}  // namespace tpuest::cli
