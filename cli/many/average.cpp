// tpuest average CKPT... --output PREFIX|DIR, or --last N RUN --output ...

#include "cli/many/checkpoint_average.h"
#include "cli/many/commands.h"
#include "cli/run/record/folder.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest::cli {
namespace {

struct AverageInvocation : Invocation {
  std::optional<int64_t> last;  // --last: number of checkpoints of one run
  std::optional<std::string> output;
};

void Declare(FlagSet& flags, AverageInvocation& to) {
  flags.Integer("--last", to.last, 2, "average the last N checkpoints of one run");
  flags.Text("--output", to.output, "DIR|PREFIX",
             "folder for a checkpoint, its state file and the job; or a prefix, DIR/x.ckpt");
}

// The last `count` checkpoints that a run has kept and believes in.
std::vector<std::string> LastOf(const std::string& run, int64_t count) {
  std::vector<std::string> prefixes;
  const auto newest = LatestCheckpoint(run);
  const int64_t last = newest ? StepOfCheckpoint(*newest).value_or(0) : -1;
  for (const auto& [step, prefix] : CheckpointsIn(run)) {
    if (step <= last) prefixes.push_back(prefix);
  }
  const auto there = static_cast<int64_t>(prefixes.size());
  if (there < count) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: has {} checkpoints, but --last asks for {}", run, there, count),
                "run_config.keep_checkpoint_max sets how many a run keeps");
  }
  prefixes.erase(prefixes.begin(), prefixes.end() - count);
  return prefixes;
}

std::vector<std::string> PrefixesOf(const AverageInvocation& invocation) {
  const std::vector<std::string>& given = invocation.arguments;
  if (invocation.last) {
    if (given.size() == 1) return LastOf(given[0], *invocation.last);
    throw Error(Code::kUsage, fmt::format("--last takes one run, found {}", given.size()),
                "tpuest average --last 3 runs/mnist --output runs/mnist_average");
  }
  if (given.size() < 2) {
    throw Error(Code::kUsage, "average takes two checkpoints or more, or --last N and a run",
                "tpuest average --last 3 runs/mnist --output runs/mnist_average");
  }
  std::vector<std::string> prefixes;
  for (const std::string& each : given) prefixes.push_back(ResolveCheckpoint(each));
  return prefixes;
}

// True for a path whose last part names a checkpoint: it is a prefix, any other a folder.
bool IsPrefix(const std::string& output) {
  return !DirectoryExists(output) && BaseName(output).find("ckpt") != std::string::npos;
}

// Puts the job of the newest run into the folder, so that evaluate, predict and export take it as
// they take a run.
void TakeJob(const std::string& newest, const std::string& folder) {
  const std::string job = ResolvedJobPath(ModelDirOf(newest));
  if (!FileExists(job)) return;
  MakeDirectories(DirName(ResolvedJobPath(folder)));
  WriteFileAtomically(ResolvedJobPath(folder), ReadFile(job));
}

void WriteCheckpoint(const CheckpointAverage& average, const std::string& prefix) {
  const std::string meta = MetaGraphPath(average.newest());
  if (FileExists(meta)) WriteFileAtomically(MetaGraphPath(prefix), ReadFile(meta));
  WriteBundle(prefix, average.tensors);
}

// The prefix of the average: the one that is given, or one in the folder that is given.
std::string PrefixFor(const CheckpointAverage& average, const std::string& output) {
  if (IsPrefix(output)) {
    if (!CheckpointExists(output)) return output;
    throw Error(Code::kUsage, fmt::format("{}: is already a checkpoint", output),
                "name another prefix");
  }
  if (!ReadCheckpointState(output)) {
    return CheckpointAt(output, average.global_step.value_or(0));
  }
  throw Error(Code::kUsage, fmt::format("{}: already has checkpoints", output),
              "name a new folder, or a prefix such as DIR/average.ckpt");
}

void Write(const CheckpointAverage& average, const std::string& prefix, const std::string& output) {
  const std::string folder = DirName(prefix);
  if (!folder.empty()) MakeDirectories(folder);
  WriteCheckpoint(average, prefix);
  if (prefix == output) return;
  TakeJob(average.newest(), folder);
  WriteCheckpointState(folder,
                       {.model_checkpoint_path = prefix, .all_model_checkpoint_paths = {prefix}});
}

int Average(const AverageInvocation& invocation, config::Sources& /*sources*/) {
  if (!invocation.output) {
    throw Error(Code::kUsage, "average needs --output",
                "--output DIR, or a prefix: --output DIR/average.ckpt");
  }
  const CheckpointAverage average = AverageCheckpoints(PrefixesOf(invocation));
  const std::string path = PrefixFor(average, *invocation.output);
  if (!invocation.dry_run) Write(average, path, *invocation.output);
  if (invocation.json) {
    PrintDocument("average",
                  {{"global_step", average.global_step ? Json(*average.global_step) : Json()},
                   {"path", path},
                   {"checkpoints", average.prefixes},
                   {"averaged", average.averaged},
                   {"kept", average.tensors.size() - average.averaged}});
  } else {
    fmt::print("{}: {} variables averaged over {} checkpoints, {} copied from {}\n", path,
               average.averaged, average.prefixes.size(), average.tensors.size() - average.averaged,
               average.newest());
  }
  return 0;
}

}  // namespace

Command AverageCommand() {
  return MakeCommand<AverageInvocation>(
      {.name = "average",
       .summary = "write the mean of several checkpoints",
       .examples =
           {"tpuest average --last 3 runs/mnist --output runs/mnist_average",
            "tpuest average runs/a/model.ckpt-900 runs/b/model.ckpt-900 --output runs/mean"},
       .takes = Takes::kPaths},
      Declare, Average);
}

}  // namespace tpuest::cli
