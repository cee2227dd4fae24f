#include "cli/shell/common_flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/base/whole_number.h"

namespace tpuest::cli {
namespace {

void DeclareOutputFlags(FlagSet& flags, Invocation& to) {
  flags.Switch("--json", to.json, "print the result as one JSON document on stdout");
  flags.Choice<LogFormat>(
      "--log-format", to.log_format,
      {{"text", LogFormat::kText}, {"tf", LogFormat::kTensorFlow}, {"json", LogFormat::kJson}},
      "format of the log: `text`, `tf` (TensorFlow's lines) or `json`");
  flags.Switch("--timestamps", to.timestamps,
               "begin each line of `text` and `tf` logs with the time in UTC");
  flags.Switch("-q,--quiet", to.quiet, "log only warnings and errors");
  flags.Switch("-v,--verbose", to.verbose, "also log details and TensorFlow's lines");
  flags.Choice<Toggle>(
      "--color", to.color,
      {{"auto", Toggle::kAuto}, {"always", Toggle::kAlways}, {"never", Toggle::kNever}},
      "colour the output on stderr");
  flags.Choice<Toggle>("--progress", to.progress,
                       {{"auto", Toggle::kAuto}, {"on", Toggle::kAlways}, {"off", Toggle::kNever}},
                       "show a status line on stderr");
}

void DeclareDevice(FlagSet& flags, Invocation& to) {
  const auto read = [&to](const std::string& given) -> std::optional<std::string> {
    if (!IsDeviceName(given)) return std::string(kDeviceNames);
    to.device = given;
    return std::nullopt;
  };
  flags.Checked("--device", read, "cpu|cpu-xla|cuda|tpu|pjrt:PATH",
                "device that runs the steps: the CPU, or a PJRT plugin (tpuest.device)");
}

void DeclareRunFlags(FlagSet& flags, Invocation& to) {
  flags.Text("--model-dir", to.model_dir, "DIR", "folder of the run (run_config.model_dir)");
  flags.Repeated("--set-file", to.set_files, "FILE",
                 "YAML file whose keys override the job's; may be repeated");
  flags.Text("-C", to.directory, "DIR", "change to this folder first");
  flags.Integer("--threads", to.threads, 1,
                "number of threads for steps; the results do not depend on it");
  DeclareDevice(flags, to);
  flags.Switch("--no-commands", to.no_commands,
               "refuse a job or run that names commands or libraries to run: generator sources, "
               "ExecHooks, plugins");
  flags.Switch("--dry-run", to.dry_run, "check everything up to the first step; write nothing");
}

// A flag that is another spelling of a variable of the environment, a number from `least` on.
void DeclareNumber(FlagSet& flags, const char* flag, const char* variable, int least,
                   const char* help) {
  const auto read = [variable, least](const std::string& given) -> std::optional<std::string> {
    const auto number = WholeNumber<int>(given);
    if (!number || *number < least) return fmt::format("a whole number from {} on", least);
    ::setenv(variable, given.c_str(), 1);
    return std::nullopt;
  };
  flags.Checked(flag, read, "N", help);
}

}  // namespace

void DeclareCommonFlags(FlagSet& flags, Invocation& to) {
  flags.Group("Run");
  DeclareRunFlags(flags, to);
  flags.Group("Output");
  DeclareOutputFlags(flags, to);
}

void DeclareCheckpoint(FlagSet& flags, Invocation& to) {
  flags.Text("--checkpoint", to.checkpoint, "PATH|STEP|latest|best",
             "checkpoint to use: a prefix, a step, a model_dir, latest or best; the job may then "
             "be left out");
}

void DeclareAllowOlder(FlagSet& flags, Invocation& to) {
  flags.Switch("--allow-older", to.allow_older,
               "if the newest checkpoint is damaged, use the previous one, with a warning");
}

void DeclareUntrained(FlagSet& flags, Invocation& to) {
  flags.Switch("--untrained", to.untrained,
               "if there is no checkpoint, use the model's initial values, with a warning");
}

void DeclareFold(FlagSet& flags, Invocation& to) {
  flags.Text("--fold", to.fold, "I/N",
             "cross-validation: split the records into N parts, train on all but part I, evaluate "
             "on part I, in MODEL_DIR/fold_I_of_N (tpuest.fold)");
}

void DeclareGroup(FlagSet& flags) {
  DeclareNumber(flags, "--process-id", "TPUEST_PROCESS_ID", 0,
                "number of this process in its group, from 0 (TPUEST_PROCESS_ID)");
  DeclareNumber(flags, "--num-processes", "TPUEST_NUM_PROCESSES", 1,
                "number of processes in the group (TPUEST_NUM_PROCESSES)");
  const auto read = [](const std::string& given) -> std::optional<std::string> {
    ::setenv("TPUEST_COORDINATOR", given.c_str(), 1);
    return std::nullopt;
  };
  flags.Checked("--coordinator", read, "HOST:PORT",
                "address of process 0 of the group, or unix:FOLDER (TPUEST_COORDINATOR)");
}

void DeclareTraining(FlagSet& flags, Invocation& to) {
  DeclareFold(flags, to);
  DeclareGroup(flags);
}

}  // namespace tpuest::cli
