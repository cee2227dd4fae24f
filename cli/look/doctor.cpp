// tpuest doctor [JOB.yaml]: the build, the machine, the devices, and what is in the way

#include <algorithm>
#include <cstdlib>

#include "cli/host/build_info.h"
#include "cli/host/cpu_features.h"
#include "cli/host/machine.h"
#include "cli/host/plugin_probe.h"
#include "cli/job/job.h"
#include "cli/look/commands.h"
#include "cli/run/process.h"
#include "cli/run/record/folder.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/kernels/isa/cpu_isa.h"

namespace tpuest::cli {
namespace {

constexpr double kPluginSecs = 20;
constexpr uint64_t kLittleDisk = uint64_t{1} << 30;
constexpr uint64_t kLittleMemory = uint64_t{1} << 30;
constexpr uint64_t kFewFiles = 256;

struct Problem {
  std::string what;
  std::string way_out;
};

struct JobPlace {
  std::string path;
  std::string model_dir;  // empty: the job has none
  bool is_training = false;
};

struct Findings {
  Machine machine;
  std::vector<std::pair<std::string, DiskSpace>> disks;  // "model_dir", and the disk it is on
  std::vector<PluginProbe> plugins;
  std::optional<JobPlace> job;
  std::string tf_config;                       // "none", "chief 0 of chief 1, worker 2"
  std::optional<hosts::ProcessPlace> process;  // nullopt: what launchers say cannot be used
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Problem> problems;
};

std::string TfConfigText(ClusterRules rules, std::vector<Problem>& problems) {
  try {
    const TfConfig config = ReadTfConfig(rules);
    if (config.text.empty()) return "none";
    std::vector<std::string> tasks;
    for (const auto& [type, nodes] : config.cluster)
      tasks.push_back(fmt::format("{} {}", type, config.TasksOf(type)));
    return fmt::format("{} {} of {}", config.task_type, config.task_id, Join(tasks, ", "));
  } catch (const Error& error) {
    problems.push_back({"TF_CONFIG: " + error.message(), "unset TF_CONFIG, or give it a cluster"});
    return "cannot be used";
  }
}

// Returns the place by the launchers' variables; nullopt if they are invalid. Faults of TF_CONFIG
// have a separate row.
std::optional<hosts::ProcessPlace> ProcessOf(ClusterRules rules, std::vector<Problem>& problems) {
  TfConfig config;
  try {
    config = ReadTfConfig(rules);
  } catch (const Error&) {
    return std::nullopt;
  }
  try {
    return ThisProcess(config);
  } catch (const Error& error) {
    problems.push_back({error.message(), error.faults().front().hint});
    return std::nullopt;
  }
}

// The set variables of the environment that change what a run does or where it looks.
std::vector<std::pair<std::string, std::string>> EnvironmentOf() {
  std::vector<std::pair<std::string, std::string>> found;
  for (const char* const name :
       {"LC_ALL", "LC_NUMERIC", "LANG", "OMP_NUM_THREADS", "TPUEST_PLUGINS", "VIRTUAL_ENV",
        "CONDA_PREFIX", "DNNL_MAX_CPU_ISA", "NO_COLOR", "CI"}) {
    if (const char* const value = std::getenv(name)) found.emplace_back(name, value);
  }
  return found;
}

void CheckMachine(const Machine& machine, std::vector<Problem>& problems) {
  const uint64_t memory = std::min(machine.memory, machine.memory_limit.value_or(machine.memory));
  if (memory < kLittleMemory) {
    problems.push_back(
        {fmt::format("{} of memory", BytesText(static_cast<int64_t>(memory))),
         "a smaller batch needs less; `tpuest plan JOB` shows the memory of a step"});
  }
  if (machine.open_files && *machine.open_files < kFewFiles) {
    problems.push_back(
        {fmt::format("only {} open files are allowed", *machine.open_files), "ulimit -n 1024"});
  }
  if (machine.address_space) {
    problems.push_back({fmt::format("the address space is limited to {}",
                                    BytesText(static_cast<int64_t>(*machine.address_space))),
                        "ulimit -v unlimited: tpuest maps whole files"});
  }
  if (machine.core_quota && *machine.core_quota < machine.usable_cores) {
    problems.push_back({fmt::format("the control group allows {:.1f} of {} cores",
                                    *machine.core_quota, machine.usable_cores),
                        fmt::format("--threads {} keeps threads from waiting for each other",
                                    std::max(1, static_cast<int>(*machine.core_quota)))});
  }
  if (machine.huge_pages == "never") {
    problems.push_back({"transparent huge pages are off: large models train slower",
                        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root"});
  }
}

void CheckDisks(const Findings& findings, std::vector<Problem>& problems) {
  for (const auto& [what, disk] : findings.disks) {
    if (disk.free < kLittleDisk) {
      problems.push_back(
          {fmt::format("{}: only {} are free", what, BytesText(static_cast<int64_t>(disk.free))),
           "a run keeps keep_checkpoint_max checkpoints; name another --model-dir"});
    }
    if (!disk.writable) {
      problems.push_back({fmt::format("{}: is not writable", what), "name another --model-dir"});
    }
    if (!disk.type.empty()) {
      problems.push_back(
          {fmt::format("{}: is on a network file system ({})", what, disk.type),
           "two machines must not train in one model_dir: locks may not work between them"});
    }
  }
}

void CheckPlugins(const std::vector<PluginProbe>& plugins, std::vector<Problem>& problems) {
  for (const PluginProbe& plugin : plugins) {
    if (plugin.path.empty() || plugin.starts) continue;
    problems.push_back({fmt::format("--device {}: {}", plugin.device, plugin.message),
                        plugin.device == "cpu-xla"
                            ? "install a newer plugin: remove it and run ./dev plugins cpu, or pip "
                              "install -U xla-cpu-pjrt"
                            : "without the device the plugin is useful only for `plan --compile`"});
  }
}

Findings Examine(const Invocation& invocation, config::Sources& sources) {
  Findings findings;
  // Probing forks, so it goes first, while there are no threads.
  for (const char* const device : {"cpu-xla", "cuda", "tpu"}) {
    findings.plugins.push_back(ProbePlugin(device, kPluginSecs));
  }
  findings.machine = ThisMachine();
  findings.disks.emplace_back("the working folder", DiskAt("."));
  ClusterRules rules = ClusterRules::kRunConfig;
  if (invocation.job || invocation.model_dir) {
    const LoadedJob loaded = LoadInvocationJob(invocation, sources);
    rules = RulesOf(loaded.job);
    JobPlace job{.path = invocation.job.value_or(""),
                 .model_dir = loaded.job.estimator.run_config.model_dir.value_or("")};
    if (!job.model_dir.empty()) {
      findings.disks.emplace_back("model_dir", DiskAt(job.model_dir));
      job.is_training = RunFolder::StateOf(job.model_dir) == TrainerState::kTraining;
    }
    findings.job = job;
  }
  findings.environment = EnvironmentOf();
  findings.tf_config = TfConfigText(rules, findings.problems);
  findings.process = ProcessOf(rules, findings.problems);
  CheckMachine(findings.machine, findings.problems);
  CheckDisks(findings, findings.problems);
  CheckPlugins(findings.plugins, findings.problems);
  if (findings.job && findings.job->is_training) {
    findings.problems.push_back(
        {"model_dir: another process trains there now", "wait for it, or stop it"});
  }
  return findings;
}

std::string LibrariesText() {
  std::vector<std::string> words;
  for (const auto& [name, version] : ThisBuild().libraries)
    words.push_back(fmt::format("{} {}", name, version));
  return Join(words, ", ");
}

std::string BytesOr(const std::optional<uint64_t>& bytes, const std::string& none) {
  return bytes ? BytesText(static_cast<int64_t>(*bytes)) : none;
}

std::string CoresText(const Machine& machine) {
  std::string text = fmt::format("{}, {} usable", machine.cores, machine.usable_cores);
  if (machine.core_quota) text += fmt::format(", quota {:.1f}", *machine.core_quota);
  return text;
}

std::string PluginText(const PluginProbe& plugin) {
  if (plugin.path.empty()) return "no plugin; " + plugin.message;
  if (!plugin.starts) return fmt::format("{}: does not start", plugin.path);
  return fmt::format("{}: {} device{}, {}", plugin.path, plugin.devices,
                     plugin.devices == 1 ? "" : "s", plugin.version);
}

std::string DiskText(const DiskSpace& disk) {
  return fmt::format("{} free{}{}", BytesText(static_cast<int64_t>(disk.free)),
                     disk.writable ? "" : ", not writable",
                     disk.type.empty() ? "" : ", " + disk.type);
}

std::string Text(const Findings& findings) {
  const Machine& machine = findings.machine;
  std::vector<std::vector<std::string>> rows = {
      {"tpuest",
       fmt::format("{}, {}, {}", ThisBuild().version, ThisBuild().type, ThisBuild().compiler)},
      {"processor", machine.processor},
      {"kernels", CpuText()},
      {"bfloat16", ChosenCpuIsa().bfloat16 ? "yes" : "no: the processor has no AVX-512"},
      {"libraries", LibrariesText()},
      {"system", machine.system},
      {"cores", CoresText(machine)},
      {"memory",
       fmt::format("{}, {} available, limit {}", BytesText(static_cast<int64_t>(machine.memory)),
                   BytesText(static_cast<int64_t>(machine.available)),
                   BytesOr(machine.memory_limit, "none"))},
      {"open files",
       machine.open_files ? WithCommas(static_cast<int64_t>(*machine.open_files)) : "any number"},
      {"huge pages", machine.huge_pages.empty() ? "not known" : machine.huge_pages}};
  for (const auto& [what, disk] : findings.disks) rows.push_back({what, DiskText(disk)});
  for (const PluginProbe& plugin : findings.plugins)
    rows.push_back({plugin.device, PluginText(plugin)});
  rows.push_back({"TF_CONFIG", findings.tf_config});
  rows.push_back({"process", findings.process ? hosts::PlaceText(*findings.process) : "unknown"});
  for (const auto& [name, value] : findings.environment) rows.push_back({name, value});
  if (findings.job && !findings.job->path.empty()) rows.push_back({"job", findings.job->path});
  std::string text = TableText({false, false}, rows);
  if (findings.problems.empty()) return text + "\nno problem found\n";
  for (const Problem& problem : findings.problems) {
    text += fmt::format("\nproblem: {}\n       = {}\n", problem.what, problem.way_out);
  }
  return text;
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json Document(const Findings& findings) {
  const Machine& machine = findings.machine;
  Json libraries = Json::object();
  for (const auto& [name, version] : ThisBuild().libraries) libraries[std::string(name)] = version;
  Json disks = Json::object();
  for (const auto& [what, disk] : findings.disks) {
    disks[what] = {{"free", disk.free}, {"writable", disk.writable}, {"network", disk.type}};
  }
  Json devices = Json::object();
  for (const PluginProbe& plugin : findings.plugins) {
    devices[plugin.device] = {{"plugin", plugin.path},
                              {"starts", plugin.starts},
                              {"devices", plugin.devices},
                              {"version", plugin.version},
                              {"message", plugin.message}};
  }
  Json environment = Json::object();
  for (const auto& [name, value] : findings.environment) environment[name] = value;
  Json problems = Json::array();
  for (const Problem& problem : findings.problems) {
    problems.push_back({{"problem", problem.what}, {"way_out", problem.way_out}});
  }
  return {
      {"version", ThisBuild().version},
      {"build",
       {{"compiler", ThisBuild().compiler}, {"type", ThisBuild().type}, {"libraries", libraries}}},
      {"machine",
       {{"system", machine.system},
        {"processor", machine.processor},
        {"features", CpuText()},
        {"kernels", KernelsText()},
        {"bfloat16", ChosenCpuIsa().bfloat16},
        {"cores", machine.cores},
        {"usable_cores", machine.usable_cores},
        {"core_quota", OrNull(machine.core_quota)},
        {"memory", machine.memory},
        {"available", machine.available},
        {"memory_limit", OrNull(machine.memory_limit)},
        {"open_files", OrNull(machine.open_files)},
        {"address_space", OrNull(machine.address_space)},
        {"huge_pages", machine.huge_pages}}},
      {"disks", disks},
      {"devices", devices},
      {"tf_config", findings.tf_config},
      {"process", findings.process ? ProcessJson(*findings.process) : Json()},
      {"environment", environment},
      {"problems", problems}};
}

int Doctor(const Invocation& invocation, config::Sources& sources) {
  CheckNoArguments(invocation);
  const Findings findings = Examine(invocation, sources);
  const char* const home = std::getenv("HOME");
  const std::string names = home == nullptr ? "" : home;
  if (invocation.json) {
    PrintDocument("doctor", Json::parse(WithoutNames(Document(findings).dump(), names)));
  } else {
    (void)WriteStdout(WithoutNames(Text(findings), names));
  }
  return 0;
}

}  // namespace

Command DoctorCommand() {
  return MakeCommand({.name = "doctor",
                      .summary = "check this machine for tpuest and list problems; for bug reports",
                      .examples = {"tpuest doctor", "tpuest doctor job.yaml"}},
                     Doctor);
}

}  // namespace tpuest::cli
