// tpuest deploy JOB --kind KIND --processes N: the files of configs/deploy, filled in.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "cli/host/build_info.h"
#include "cli/job/job.h"
#include "cli/prepare/commands.h"
#include "cli/prepare/deploy_files.h"
#include "cli/run/process.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "core/base/process/child_process.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// A kind of deployment and its file in configs/deploy.
struct Kind {
  std::string_view name;
  std::string_view file;
  int least = 1;  // processes
};
constexpr Kind kKinds[] = {
    {"indexed-job", "indexed_job.yaml"}, {"jobset", "jobset.yaml"},
    {"tfjob", "tfjob.yaml", 2},          {"slurm", "slurm.sh"},
    {"systemd", "systemd.service"},      {"dockerfile", "Dockerfile"},
};

struct DeployInvocation : Invocation {
  std::string kind;
  int processes = 1;
  std::optional<std::string> name;
  std::optional<std::string> image;
};

void DeclareDeploy(FlagSet& flags, DeployInvocation& to) {
  std::vector<std::pair<std::string, std::string>> kinds;
  for (const Kind& kind : kKinds) kinds.emplace_back(kind.name, kind.name);
  flags.Choice<std::string>("--kind", to.kind, kinds, "launcher of the processes");
  flags.Integer("--processes", to.processes, 1, "number of processes that train together");
  flags.Text("--name", to.name, "NAME", "name of the deployment; default: the job's name");
  flags.Text("--image", to.image, "IMAGE", "container image; default tpuest:VERSION");
}

const Kind& KindOf(const DeployInvocation& invocation) {
  for (const Kind& kind : kKinds) {
    if (kind.name != invocation.kind) continue;
    if (invocation.processes >= kind.least) return kind;
    throw Error(Code::kUsage,
                fmt::format("--kind {} needs at least {} processes", kind.name, kind.least),
                "--processes N");
  }
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  throw Error(Code::kUsage, fmt::format("deploy needs a --kind: {}", Join(names, ", ")),
              "tpuest deploy job.yaml --kind indexed-job --processes 8");
}

// Refuses words that would need quotes in YAML, in a shell or in a unit file.
void CheckWord(const std::string& word, const char* what) {
  const bool is_plain =
      !word.empty() && word.front() != '-' &&
      std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("._/-:@").find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (is_plain) return;
  throw Error(Code::kUsage,
              fmt::format("{} '{}': expected letters, digits and . _ / - : @", what, word),
              "rename it: it appears in YAML, shell scripts and unit files");
}

// Returns the name as a DNS label, as clusters need it, with room for the number of a process.
std::string LabelOf(std::string_view name) {
  constexpr size_t kMost = 50;
  std::string label;
  for (const unsigned char c : name) {
    const auto lower = static_cast<char>(std::tolower(c));
    const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (fits) {
      label += lower;
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  label.resize(std::min(label.size(), kMost));
  while (label.ends_with('-')) label.pop_back();
  return label.empty() || label.front() <= '9' ? "tpuest" + (label.empty() ? "" : "-" + label)
                                               : label;
}

std::string NameOf(const DeployInvocation& invocation, const Job& job) {
  const std::string stem = std::filesystem::path(*invocation.job).stem().string();
  std::string label = LabelOf(invocation.name.value_or(job.name.value_or(stem)));
  if (!invocation.name || *invocation.name == label) return label;
  throw Error(Code::kUsage,
              fmt::format("--name '{}': expected a letter, then letters, digits and -, in lower "
                          "case",
                          *invocation.name),
              fmt::format("--name {}", label));
}

std::string ModeOf(const Job& job) {
  std::string mode = job.mode.value_or("train");
  if (mode == "train" || mode == "train_and_evaluate") return mode;
  throw Error(Code::kUsage, fmt::format("mode is {}, but a deployment trains", mode),
              "mode: train, or train_and_evaluate");
}

// Seconds from the signal to the end.
int GraceOf(const Job& job) {
  constexpr int kUsual = 120;
  constexpr int kMore = 10;
  const std::optional<double>& secs = job.tpuest.preemption.grace_secs;
  return secs ? static_cast<int>(std::ceil(*secs)) + kMore : kUsual;
}

int ThreadsFor(const DeployInvocation& invocation, const Job& job) {
  constexpr int kUsual = 4;
  if (invocation.threads) return *invocation.threads;
  const int threads = job.estimator.run_config.session_config.intra_op_parallelism_threads;
  return threads > 0 ? threads : kUsual;
}

// Checks what can be checked before the run starts on another machine.
void CheckJob(const DeployInvocation& invocation, Job& job) {
  if (!job.train_spec) {
    throw Error(Code::kUsage, "deploy needs a train_spec",
                "train_spec: {input_fn: train, max_steps: 1000}");
  }
  if (!job.estimator.run_config.model_dir) {
    throw Error(Code::kUsage, "the job has no model_dir, so a deployment would keep no results",
                "run_config.model_dir=runs/NAME")
        .Key("run_config.model_dir");
  }
  if (invocation.processes == 1) return;
  const hosts::ProcessPlace chief{.rank = 0, .size = invocation.processes};
  SpreadReplicas(chief, job.estimator.run_config);
  CheckGroup(job, chief, invocation);
}

using Words = std::map<std::string, std::string>;

Words WordsOf(const DeployInvocation& invocation, const Job& job) {
  const std::string mode = ModeOf(job);
  const std::string version(ThisBuild().version);
  std::error_code error;
  Words words = {{"NAME", NameOf(invocation, job)},
                 {"JOB", *invocation.job},
                 {"COMMAND", mode == "train" ? mode : "train-and-evaluate"},
                 {"MODE", mode},
                 {"PROCESSES", std::to_string(invocation.processes)},
                 {"WORKERS", std::to_string(invocation.processes - 1)},
                 {"RETRIES", std::to_string(20 * invocation.processes)},
                 {"GRACE", std::to_string(GraceOf(job))},
                 {"THREADS", std::to_string(ThreadsFor(invocation, job))},
                 {"IMAGE", invocation.image.value_or("tpuest:" + version)},
                 {"VERSION", version},
                 {"FOLDER", std::filesystem::current_path(error).string()},
                 {"PROGRAM", ThisProgramFile()}};
  CheckWord(words["JOB"], "the job's path");
  CheckWord(words["IMAGE"], "--image");
  return words;
}

// Fills in the words of the file, which are enclosed in double underscores. A line that begins with
// the word EVALUATOR is kept only for jobs that train and evaluate.
std::string Filled(std::string_view text, const Words& words) {
  constexpr std::string_view kEvaluator = "__EVALUATOR__";
  std::string filled;
  for (const std::string& line : Split(text, '\n')) {
    std::string_view rest = line;
    if (rest.starts_with(kEvaluator)) {
      if (words.at("MODE") == "train") continue;
      rest.remove_prefix(kEvaluator.size());
    }
    for (size_t at = rest.find("__"); at != std::string_view::npos; at = rest.find("__")) {
      const size_t end = rest.find("__", at + 2);
      filled += rest.substr(0, at);
      filled += words.at(std::string(rest.substr(at + 2, end - at - 2)));
      rest.remove_prefix(end + 2);
    }
    filled += rest;
    filled += '\n';
  }
  filled.pop_back();  // no line follows the last newline
  return filled;
}

int Deploy(const DeployInvocation& invocation, config::Sources& sources) {
  const Kind& kind = KindOf(invocation);
  LoadedJob loaded = LoadInvocationJob(invocation, sources);
  CheckJob(invocation, loaded.job);
  const Words words = WordsOf(invocation, loaded.job);
  const std::string text = Filled(DeployFile(kind.file), words);
  if (!invocation.json) {
    (void)WriteStdout(text);
    return 0;
  }
  PrintDocument("deploy", {{"kind", kind.name},
                           {"name", words.at("NAME")},
                           {"processes", invocation.processes},
                           {"text", text}});
  return 0;
}

}  // namespace

Command DeployCommand() {
  return MakeCommand<DeployInvocation>(
      {.name = "deploy",
       .summary = "write the files that start a job on a cluster, in a container or as a service",
       .examples = {"tpuest deploy job.yaml --kind indexed-job --processes 8",
                    "tpuest deploy job.yaml --kind slurm --processes 4 > job.sbatch"}},
      DeclareDeploy, Deploy);
}

}  // namespace tpuest::cli
