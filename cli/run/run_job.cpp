// tpuest run JOB.yaml: runs the command that the job's `mode:` names

#include <optional>
#include <string>
#include <vector>

#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/local_group.h"
#include "cli/run/session.h"
#include "cli/shell/common_flags.h"

namespace tpuest::cli {
namespace {

struct RunJobInvocation : Invocation, PredictionFlags, ExportFlags {
  std::optional<std::string> name;  // --name of evaluate
  std::optional<int> processes;     // processes of the group
};

void DeclareRunJob(FlagSet& flags, RunJobInvocation& to) {
  DeclareCheckpoint(flags, to);
  DeclareAllowOlder(flags, to);
  DeclareUntrained(flags, to);
  DeclareEvaluationName(flags, to.name);
  flags.Integer("--processes", to.processes, 1,
                "train, evaluate or predict in N processes on this machine, which share --threads");
  DeclarePredictionFlags(flags, to);
  DeclareExportFlags(flags, to);
}

// Returns the invocation for the mode's command.
template <class T>
T Named(const Invocation& invocation, const std::string& command) {
  T named = InvocationWith<T>(invocation);
  named.command = command;
  return named;
}

int RunTogether(const RunJobInvocation& invocation, const std::string& mode,
                config::Sources& sources) {
  std::vector<std::string> flags;
  const auto add = [&flags](const char* flag, const std::optional<std::string>& value) {
    if (value) flags.insert(flags.end(), {flag, *value});
  };
  if (mode == "evaluate") add("--name", invocation.name);
  if (mode == "predict") {
    if (invocation.input == "-") {
      throw Error(Code::kUsage, "--input -: each process would get a part of the standard input",
                  "read from files: every process can read them");
    }
    add("--input", invocation.input);
    add("--output", invocation.output);
    add("--format", invocation.format);
    if (invocation.limit) add("--limit", std::to_string(*invocation.limit));
    if (invocation.force) flags.emplace_back("--force");
  }
  const std::string command = mode == "train_and_evaluate" ? "train-and-evaluate" : mode;
  return RunLocalGroup(invocation, command, flags, *invocation.processes, sources);
}

int RunJob(const RunJobInvocation& invocation, config::Sources& sources) {
  const std::optional<std::string> mode = LoadInvocationJob(invocation, sources).job.mode;
  if (!mode) {
    throw Error(Code::kUsage, "the job has no mode",
                "mode: train, or name the command: tpuest train ...");
  }
  if (invocation.processes && *mode == "export") {
    throw Error(
        Code::kUsage, fmt::format("--processes: mode is {}, which runs in one process", *mode),
        "the modes train, train_and_evaluate, evaluate and predict can use several processes");
  }
  if (invocation.processes.value_or(1) > 1) return RunTogether(invocation, *mode, sources);
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
  if (*mode == "train") return Train(Named<Invocation>(invocation, *mode), sources);
  return TrainAndEvaluate(Named<Invocation>(invocation, "train-and-evaluate"), sources);
}

}  // namespace

Command RunJobCommand() {
  return MakeCommand<RunJobInvocation>(
      {.name = "run",
       .summary = "run the command that the job's `mode` names",
       .examples = {"tpuest run job.yaml", "tpuest run job.yaml --processes 4"}},
      DeclareRunJob, RunJob);
}

}  // namespace tpuest::cli
