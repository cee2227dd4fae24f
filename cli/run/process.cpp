#include "cli/run/process.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/job/device.h"
#include "cli/job/job.h"
#include "cli/run/command_job.h"
#include "cli/run/session.h"
#include "cli/shell/console.h"
#include "config/tree.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/process/child_process.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/step/estimator_context.h"
#include "core/hosts/shares.h"
#include "data/sources/open_source.h"

namespace tpuest::cli {

ClusterRules RulesOf(const Job& job) {
  const bool has_strategy = job.estimator.run_config.train_distribute.has_value();
  return has_strategy ? ClusterRules::kStrategy : ClusterRules::kRunConfig;
}

hosts::ProcessPlace ThisProcess(const TfConfig& config) {
  return hosts::PlaceInGroup(config::ProcessEnvironment, PlaceInCluster(config));
}

void SpreadReplicas(const hosts::ProcessPlace& place, RunConfig& run_config) {
  for (auto* const strategy : {&run_config.train_distribute, &run_config.eval_distribute}) {
    if (!*strategy || !(*strategy)->has_replica_a_process()) continue;
    (*strategy)->num_replicas = static_cast<int>(place.size);
  }
}

bool TrainsInGroup(const hosts::ProcessPlace& place, const Invocation& invocation) {
  return Trains(invocation) && place.role.empty() && place.is_one_of_several();
}

// Returns the mode of a command that evaluates or predicts.
static std::optional<Mode> ReadingMode(const Invocation& invocation) {
  if (invocation.command == "evaluate") return Mode::kEval;
  if (invocation.command == "predict") return Mode::kPredict;
  return std::nullopt;
}

bool WorksInGroup(const Job& job, const hosts::ProcessPlace& place, const Invocation& invocation) {
  if (TrainsInGroup(place, invocation)) return true;
  const std::optional<Mode> mode = ReadingMode(invocation);
  if (!mode || invocation.by_itself || !place.role.empty() || !place.is_one_of_several()) {
    return false;
  }
  if (!ReadTfConfig(ClusterRules::kStrategy).cluster.empty()) return false;
  EstimatorOptions options = job.estimator;
  SpreadReplicas(place, options.run_config);
  const int replicas = ReplicasOf(options);
  return replicas > 1 && ReplicasIn(options, *mode) == replicas && replicas % place.size == 0 &&
         SpansProcesses(DeviceName(invocation.device, job));
}

// Returns the names of the inputs that all processes of a command read.
static std::vector<std::string> InputsOf(const Job& job, const Invocation& invocation) {
  std::vector<std::string> names;
  if (invocation.command == "predict" && job.predict.input_fn) return {*job.predict.input_fn};
  if (ReadingMode(invocation)) {
    for (const NamedEvalSpec& named : EvalSpecsOf(job)) names.push_back(named.spec->input_fn);
  } else if (job.train_spec) {
    names.push_back(job.train_spec->input_fn);
  }
  return names;
}

void CheckGroup(const Job& job, const hosts::ProcessPlace& place, const Invocation& invocation) {
  (void)hosts::ShareOf(ReplicasOf(job.estimator), static_cast<int>(place.size),
                       static_cast<int>(place.rank));
  const std::optional<Mode> mode = ReadingMode(invocation);
  const std::string device = DeviceName(invocation.device, job);
  if (!SpansProcesses(device)) {
    throw Error(Code::kUsage,
                fmt::format("--device {} {} in one process, but this process is one of {}", device,
                            mode ? invocation.command + "s" : "trains", place.size),
                mode ? "without --processes" : "--device cpu spreads the replicas over processes");
  }
  if (mode && ReplicasIn(job.estimator, *mode) != ReplicasOf(job.estimator)) {
    throw Error(
        Code::kUsage,
        fmt::format("{} runs on {} of {} replicas, so one process runs it", invocation.command,
                    ReplicasIn(job.estimator, *mode), ReplicasOf(job.estimator)),
        "leave out --processes, or run on all replicas with use_tpu: true (and eval_on_tpu: true)");
  }
  for (const std::string& name : InputsOf(job, invocation)) {
    const auto input = job.input_fns.find(name);
    if (input == job.input_fns.end() || !data::ReadsStandardInput(input->second.source)) continue;
    throw Error(
        Code::kUsage,
        fmt::format("each of {} processes would get a part of the standard input", place.size),
        "read from files: every process can read them")
        .Key(fmt::format("input_fns.{}.source", name));
  }
}

// Returns the text without white space at its ends, such as a file's last newline.
static std::string Bare(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

std::string ClusterToken(const Job& job, const hosts::VariableLookup& environment) {
  constexpr size_t kLeastBytes = 16;
  std::vector<std::pair<std::string, std::string>>
      given;  // the setting that gives a secret, and the secret
  const auto add = [&given](const std::string& who, const std::string& text) {
    given.emplace_back(who, Bare(text));
  };
  const auto add_file = [&add](const std::string& who, const std::string& path) {
    if (!FileExists(path)) {
      throw Error(Code::kUsage, fmt::format("{}: the file {} does not exist", who, path),
                  "name a file with the cluster's token; every process needs it");
    }
    add(fmt::format("{} ({})", who, path), ReadFile(path));
  };
  const std::string token = environment("TPUEST_CLUSTER_TOKEN").value_or("");
  if (!token.empty()) add("TPUEST_CLUSTER_TOKEN", token);
  const std::string file = environment("TPUEST_CLUSTER_TOKEN_FILE").value_or("");
  if (!file.empty()) add_file("TPUEST_CLUSTER_TOKEN_FILE", file);
  if (const auto& path = job.tpuest.cluster.token_file) {
    add_file("tpuest.cluster.token_file", *path);
  }
  for (const auto& [who, secret] : given) {
    if (secret != given.front().second) {
      throw Error(Code::kUsage,
                  fmt::format("{} and {} hold different tokens", given.front().first, who),
                  "keep one of them");
    }
    if (secret.size() >= kLeastBytes) continue;
    throw Error(
        Code::kUsage,
        fmt::format("{} holds {} bytes; expected at least {}", who, secret.size(), kLeastBytes),
        "head -c 32 /dev/urandom | base64 prints a random token");
  }
  return given.empty() ? "" : given.front().second;
}

// Returns the path of the module that speaks gRPC, beside the program or in a package's library
// folder. Empty if this build has no such module; Error kUsage if the module was not copied along.
static std::string LinksModuleFile() {
  if (!TPUEST_HAS_LINKS) return "";
  const std::string beside = DirName(ThisProgramFile());
  const std::vector<std::string> folders = {beside, JoinPath(beside, "../lib/tpuest")};
  for (const std::string& folder : folders) {
    std::string file = JoinPath(folder, "tpuest_links.so");
    if (FileExists(file)) return file;
  }
  throw Error(Code::kUsage,
              fmt::format("tpuest_links.so, which connects processes by gRPC, is missing from {}",
                          Join(folders, " and ")),
              "copy it there from this program's build or package");
}

static hosts::RendezvousPoint RendezvousOf(const Job& job, const hosts::ProcessPlace& place) {
  if (place.coordinator.starts_with(kLocalGroup)) {
    return {.folder = place.coordinator.substr(std::string_view(kLocalGroup).size())};
  }
  hosts::RendezvousPoint rendezvous{.chief = place.coordinator,
                                    .token = ClusterToken(job, config::ProcessEnvironment),
                                    .insecure = job.tpuest.cluster.insecure,
                                    .module = LinksModuleFile()};
  if (!rendezvous.chief.empty()) return rendezvous;
  const auto& model_dir = job.estimator.run_config.model_dir;
  if (!model_dir) {
    throw Error(Code::kUsage,
                fmt::format("{} does not give the address of process 0, and the job has no "
                            "model_dir in which process 0 could publish it",
                            place.launcher),
                "TPUEST_COORDINATOR=HOST:PORT of process 0, or unix:FOLDER on one machine; or a "
                "model_dir that all processes share");
  }
  rendezvous.file = RendezvousPath(*model_dir);
  return rendezvous;
}

hosts::GroupSettings SettingsOf(const Job& job, const hosts::ProcessPlace& place) {
  const DeadlineOptions& deadlines = job.tpuest.deadlines;
  return {.links = {.rank = static_cast<int>(place.rank),
                    .size = static_cast<int>(place.size),
                    .rendezvous = RendezvousOf(job, place),
                    .rendezvous_secs = deadlines.rendezvous_secs},
          .peer_secs = deadlines.peer_secs,
          .step_secs = deadlines.step_secs};
}

bool IsLeftToChief(const Invocation& invocation) {
  const hosts::ProcessPlace place = hosts::PlaceInGroup(config::ProcessEnvironment, std::nullopt);
  if (place.rank == 0 || !ReadTfConfig(ClusterRules::kStrategy).cluster.empty()) return false;
  const SystemClock clock;
  Console console(invocation, clock);
  console.log().Info("{}: only process 0 runs {}", hosts::PlaceText(place), invocation.command);
  return true;
}

bool IsLeftToChief(const Invocation& invocation, config::Sources& sources) {
  const hosts::ProcessPlace place = hosts::PlaceInGroup(config::ProcessEnvironment, std::nullopt);
  const bool may_be_together = place.is_one_of_several() && !invocation.by_itself;
  if (may_be_together &&
      WorksInGroup(LoadInvocationJob(invocation, sources).job, place, invocation))
    return false;
  return IsLeftToChief(invocation);
}

Json ProcessJson(const hosts::ProcessPlace& place) {
  if (place.launcher.empty()) return {};
  return {{"launcher", place.launcher},
          {"rank", place.role.empty() ? Json(place.rank) : Json()},
          {"role", place.role.empty() ? Json() : Json(place.role)},
          {"size", place.size}};
}

}  // namespace tpuest::cli
