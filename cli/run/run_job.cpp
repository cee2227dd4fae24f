// tpuest run JOB.yaml: what the job's `mode:` says

#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/local_group.h"
#include "cli/run/session.h"
#include "cli/shell/common_flags.h"

namespace tpuest::cli {
namespace {

struct RunJobInvocation : Invocation, PredictionFlags, ExportFlags {
  std::optional<std::string> name;  // --name of evaluate
  std::optional<int> processes;     // that train
};

void DeclareRunJob(FlagSet& flags, RunJobInvocation& to) {
  DeclareCheckpoint(flags, to);
  DeclareEvaluationName(flags, to.name);
  flags.Integer("--processes", to.processes, 1,
                "train in so many processes of this machine, which share --threads");
  DeclarePredictionFlags(flags, to);
  DeclareExportFlags(flags, to);
}

// The invocation that the mode's command is called with.
template <class T>
T Named(const Invocation& invocation, const std::string& command) {
  T named = InvocationWith<T>(invocation);
  named.command = command;
  return named;
}

int RunJob(const RunJobInvocation& invocation, config::Sources& sources) {
  const std::optional<std::string> mode = LoadInvocationJob(invocation, sources).job.mode;
  if (!mode) {
    throw Error(Code::kUsage, "the job has no mode",
                "mode: train, or name the command: tpuest train ...");
  }
  const bool trains = *mode == "train" || *mode == "train_and_evaluate";
  if (invocation.processes && !trains) {
    throw Error(Code::kUsage, fmt::format("--processes: mode is {}, which one process does", *mode),
                "mode: train and train_and_evaluate take several");
  }
  if (*mode == "evaluate") {
    auto named = Named<EvaluateInvocation>(invocation, *mode);
    named.name = invocation.name;
    return Evaluate(named, sources);
  }
  if (*mode == "predict") {
    auto named = Named<PredictInvocation>(invocation, *mode);
    static_cast<PredictionFlags&>(named) = invocation;
    return Predict(named, sources);
  }
  if (*mode == "export") {
    auto named = Named<ExportInvocation>(invocation, *mode);
    static_cast<ExportFlags&>(named) = invocation;
    return Export(named, sources);
  }
  if (invocation.processes.value_or(1) > 1) {
    return RunLocalGroup(invocation, *mode == "train" ? "train" : "train-and-evaluate",
                         *invocation.processes, sources);
  }
  if (*mode == "train") return Train(Named<Invocation>(invocation, *mode), sources);
  return TrainAndEvaluate(Named<Invocation>(invocation, "train-and-evaluate"), sources);
}

}  // namespace

Command RunJobCommand() {
  return MakeCommand<RunJobInvocation>(
      {.name = "run",
       .summary = "do what the job's mode says",
       .examples = {"tpuest run job.yaml", "tpuest run job.yaml --processes 4"}},
      DeclareRunJob, RunJob);
}

}  // namespace tpuest::cli
