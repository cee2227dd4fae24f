// tpuest validate JOB.yaml: reports every fault that can be found without data or model_dir

#include "cli/check/model_check.h"
#include "cli/job/job.h"
#include "cli/prepare/commands.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"

namespace tpuest::cli {
namespace {

int RunValidate(const Invocation& invocation, config::Sources& sources) {
  const LoadedJob loaded = LoadInvocationJob(invocation, sources);
  std::vector<Fault> faults = CheckModel(loaded.job);
  if (!faults.empty()) throw Error(Code::kUsage, std::move(faults));
  if (invocation.json) {
    PrintDocument("validate", {{"path", loaded.tree.root.place.file}, {"valid", true}});
  } else {
    fmt::print("{}: valid\n", invocation.job.value_or("job"));
  }
  return 0;
}

}  // namespace

Command ValidateCommand() {
  return MakeCommand(
      {.name = "validate",
       .summary = "check a job without running it",
       .examples = {"tpuest validate job.yaml", "tpuest validate job.yaml train_batch_size=256"}},
      RunValidate);
}

}  // namespace tpuest::cli
