// tpuest sweep JOB --grid K=V1,V2 --random K=DIST --trials N --out DIR
// tpuest sweep expand JOB ... | run JOB ... --index N|auto | status DIR | best DIR

#include <algorithm>

#include "cli/host/task_index.h"
#include "cli/job/job.h"
#include "cli/many/commands.h"
#include "cli/many/sweep/draws.h"
#include "cli/many/sweep/invocation.h"
#include "cli/many/sweep/report.h"
#include "cli/many/sweep/run.h"
#include "cli/run/commands.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "config/tree.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest::cli {
namespace {

void Declare(FlagSet& flags, SweepInvocation& to) {
  flags.Repeated("--grid", to.grid, "KEY=V1,V2,...",
                 "one trial per value; several grids give one trial per combination");
  flags.Repeated("--random", to.random, "KEY=DIST",
                 "one random value per trial: uniform(a,b), loguniform(a,b), randint(a,b), "
                 "choice(a,b,...) or normal(mean,stddev)");
  flags.Integer("--trials", to.trials, 1, "random values per combination of the grids");
  flags.Integer("--seed", to.seed, 0, "seed of the random values");
  flags.Integer("--jobs", to.jobs, 1,
                "number of trials to run at a time; they share --threads; default 1");
  flags.Text("--out", to.out, "DIR",
             "folder of the sweep; each trial is a run in DIR/trial_000 and so on");
  flags.Text("--index", to.index, "N|auto",
             "of sweep run: number of the trial; `auto` takes the index of the array task (Slurm, "
             "Kubernetes, PBS, AWS Batch, Grid Engine, LSF)");
  flags.Text("--metric", to.metric, "NAME",
             "metric that decides the best trial: accuracy, EVAL/accuracy, train/loss");
  flags.Choice<std::optional<std::string>>("--mode", to.mode, {{"min", "min"}, {"max", "max"}},
                                           "whether smaller or larger is better");
}

SweepFolder OutOf(const SweepInvocation& invocation) {
  if (invocation.out) return SweepFolder(*invocation.out);
  throw Error(Code::kUsage, "the sweep needs an output folder", "--out runs/sweep");
}

// The invocation of a trial's own command.
Invocation TrialInvocation(const SweepInvocation& invocation, const Trial& trial) {
  Invocation own = invocation;
  own.subject.clear();
  for (const std::string& text : trial.Overrides()) own.overrides.push_back(text);
  return own;
}

// Reads a trial's job as the trial will, so that its faults are reported before anything runs.
Job LoadTrial(const SweepInvocation& invocation, const Trial& trial, config::Sources& sources) {
  Job job = LoadInvocationJob(TrialInvocation(invocation, trial), sources).job;
  if (const std::optional<std::string>& mirror = job.estimator.run_config.mirror) {
    throw Error(Code::kUsage, fmt::format("all trials of the sweep would be copied to {}", *mirror),
                "~run_config.mirror removes the mirror")
        .Key("run_config.mirror");
  }
  if (job.train_spec) return job;
  throw Error(Code::kUsage, "a sweep trains, but the job has no train_spec",
              "train_spec: {input_fn: train, max_steps: 1000}");
}

SweepRecord MakeRecord(const SweepInvocation& invocation, config::Sources& sources) {
  if (!invocation.job) {
    throw Error(Code::kUsage, "'sweep' needs a job file",
                "tpuest sweep job.yaml --grid learning_rate=0.1,0.01 --out runs/sweep");
  }
  if (invocation.model_dir) {
    throw Error(Code::kUsage, "--model-dir: each trial of a sweep has its own model_dir",
                "--out DIR names the folder of all trials");
  }
  SweepRecord record;
  record.job = *invocation.job;
  record.overrides = invocation.overrides;
  record.space = {invocation.grid, invocation.random, invocation.trials, invocation.seed};
  record.trials = ExpandTrials(record.space);
  for (const Trial& trial : record.trials) {
    const Job job = LoadTrial(invocation, trial, sources);
    if (trial.index > 0) continue;
    record.command = job.eval_spec ? "train-and-evaluate" : "train";
    record.order = OrderOf(job);
  }
  record.set_files = invocation.set_files;
  record.job_text = ReadFile(record.job);
  for (const std::string& file : record.set_files) record.job_text += ReadFile(file);
  return record;
}

int Expand(const SweepInvocation& invocation, config::Sources& sources) {
  const SweepRecord record = MakeRecord(invocation, sources);
  Json trials = Json::array();
  for (const Trial& trial : record.trials) {
    trials.push_back(
        {{"index", trial.index}, {"trial", trial.name}, {"overrides", OverridesJson(trial)}});
    if (!invocation.json) fmt::print("{}  {}\n", trial.index, Join(trial.Overrides(), " "));
  }
  if (invocation.json) PrintDocument("sweep_expand", {{"trials", trials}});
  return 0;
}

size_t IndexOf(const SweepInvocation& invocation, size_t trials) {
  const std::string text = invocation.index.value_or("auto");
  const std::optional<int64_t> index =
      text == "auto" ? ArrayTaskIndex(config::ProcessEnvironment) : WholeNumber<int64_t>(text);
  if (!index) {
    throw Error(Code::kUsage, fmt::format("--index: expected a number or auto, found '{}'", text));
  }
  if (*index >= 0 && *index < static_cast<int64_t>(trials)) return static_cast<size_t>(*index);
  throw Error(Code::kUsage,
              fmt::format("trial {} does not exist: the sweep has {} trials, counted from 0",
                          *index, trials),
              fmt::format("use an array of tasks 0 to {}", trials - 1));
}

// Runs one trial in this process.
int RunOne(const SweepInvocation& invocation, config::Sources& sources) {
  const SweepFolder folder = OutOf(invocation);
  const SweepRecord record = MakeRecord(invocation, sources);
  const Trial& trial = record.trials[IndexOf(invocation, record.trials.size())];
  if (!invocation.dry_run) folder.Claim(record);
  SystemClock clock;
  Console console(invocation, clock);
  if (folder.StatusOf(trial, record.overrides).done()) {
    console.log().Info("{} is done: {}", trial.name, folder.RunOf(trial));
    return 0;
  }
  Invocation own = TrialInvocation(invocation, trial);
  own.command = record.command;
  own.model_dir = folder.RunOf(trial);
  return own.command == "train" ? Train(own, sources) : TrainAndEvaluate(own, sources);
}

void Print(const SweepInvocation& invocation, const SweepFolder& folder, const SweepRecord& record,
           const std::vector<TrialResult>& results) {
  const MetricOrder order = ChosenOrder(record.order, invocation.metric, invocation.mode);
  if (invocation.json) {
    PrintDocument("sweep", SweepJson(folder, record, results, order));
  } else {
    fmt::print("{}", SweepText(folder, results, order));
  }
}

// The exit code of a trial as the sweep's own: one that was killed by signal n has left 128 + n.
int CodeOf(int exit_code) {
  constexpr int kKilled = 137;
  if (exit_code == kKilled) return static_cast<int>(Code::kResource);
  if (exit_code == kTerminatedCode) return static_cast<int>(Code::kPreempted);
  return exit_code > static_cast<int>(Code::kInterrupted) ? static_cast<int>(Code::kInternal)
                                                          : exit_code;
}

// The exit code of a sweep whose trials have all been run: that of the first that is not done.
int Outcome(const std::vector<TrialResult>& results, const SweepFolder& folder, Log& log) {
  std::vector<std::string> failed;
  int exit_code = 0;
  std::string first_log;
  for (const TrialResult& result : results) {
    if (result.status.done()) continue;
    const int code = CodeOf(result.status.exit_code.value_or(static_cast<int>(Code::kInternal)));
    if (exit_code == 0) {
      exit_code = code;
      first_log = folder.LogOf(result.trial);
    }
    failed.push_back(fmt::format("{} ({})", result.trial.name, code));
  }
  if (!failed.empty()) {
    log.Write(LogLevel::kError,
              fmt::format("{} of {} trials are not done: {}; see {}", failed.size(), results.size(),
                          Join(failed, ", "), first_log));
  }
  return exit_code;
}

int RunAll(const SweepInvocation& invocation, config::Sources& sources) {
  const SweepFolder folder = OutOf(invocation);
  const SweepRecord record = MakeRecord(invocation, sources);
  std::ignore = ChosenOrder(record.order, invocation.metric, invocation.mode);
  folder.Claim(record);
  SweepRun run(invocation, folder, record);
  const std::optional<int> stopped = run.Run();
  const std::vector<TrialResult> results = ReadResults(folder, record);
  Print(invocation, folder, record, results);
  if (!stopped) return Outcome(results, folder, run.log());
  const auto done = std::count_if(results.begin(), results.end(),
                                  [](const TrialResult& r) { return r.status.done(); });
  run.log().Info("stopped with {} of {} trials done; the same command resumes them", done,
                 results.size());
  return *stopped;
}

SweepFolder NamedFolder(const SweepInvocation& invocation) {
  if (invocation.arguments.size() == 1 && !invocation.job) {
    return SweepFolder(invocation.arguments[0]);
  }
  throw Error(Code::kUsage,
              fmt::format("'sweep {}' takes the folder of a sweep", invocation.subject),
              fmt::format("tpuest sweep {} runs/sweep", invocation.subject));
}

int ShowStatus(const SweepInvocation& invocation) {
  const SweepFolder folder = NamedFolder(invocation);
  const SweepRecord record = folder.Read();
  Print(invocation, folder, record, ReadResults(folder, record));
  return 0;
}

int ShowBest(const SweepInvocation& invocation) {
  const SweepFolder folder = NamedFolder(invocation);
  const SweepRecord record = folder.Read();
  const MetricOrder order = ChosenOrder(record.order, invocation.metric, invocation.mode);
  const std::vector<TrialResult> results = ReadResults(folder, record);
  const TrialResult* const best = BestOf(results, order);
  if (best == nullptr) {
    throw Error(Code::kData,
                fmt::format("{}: no finished trial has a '{}'", folder.path(), order.metric),
                "'tpuest sweep status " + folder.path() + "' shows the trials and their metrics");
  }
  if (invocation.json) {
    PrintDocument("sweep_best", BestJson(folder, *best, order));
  } else {
    fmt::print("{}\n{}\n{} = {}\n", folder.RunOf(best->trial), Join(best->trial.Overrides(), " "),
               order.metric, NumberText(ValueOf(*best, order)));
  }
  return 0;
}

// A word that is none of the sweep's commands, before what is missing beside it.
void CheckWords(const SweepInvocation& invocation) {
  if (invocation.arguments.empty() || invocation.subject == "status" ||
      invocation.subject == "best") {
    return;
  }
  // A distribution that a shell split at its space also leaves a word.
  for (const std::string& text : invocation.random) (void)ParseDistribution(text);
  throw Error(
      Code::kUsage, fmt::format("'sweep' has no subcommand '{}'", invocation.arguments[0]),
      "tpuest sweep job.yaml runs all trials; the subcommands are expand, run, status and best");
}

int Sweep(const SweepInvocation& invocation, config::Sources& sources) {
  CheckWords(invocation);
  if (invocation.subject == "expand") return Expand(invocation, sources);
  if (invocation.subject == "run") return RunOne(invocation, sources);
  if (invocation.subject == "status") return ShowStatus(invocation);
  if (invocation.subject == "best") return ShowBest(invocation);
  return invocation.dry_run ? Expand(invocation, sources) : RunAll(invocation, sources);
}

}  // namespace

Command SweepCommand() {
  return MakeCommand<SweepInvocation>(
      {.name = "sweep",
       .summary = "train a job with many values of its keys; sweep expand|run|status|best",
       .examples = {"tpuest sweep job.yaml --grid learning_rate=0.1,0.01 --jobs 2 --out runs/rates",
                    "tpuest sweep status runs/rates", "tpuest sweep best runs/rates"},
       .subjects = {"expand", "run", "status", "best"}},
      Declare, Sweep);
}

}  // namespace tpuest::cli
