#include "cli/run/process.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/job/device.h"
#include "cli/job/job.h"
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
  const bool trains = invocation.command.starts_with("train") && place.role.empty();
  return trains && place.is_one_of_several();
}

// The mode of a command that evaluates or predicts.
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

// The inputs that all processes of a command read.
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
    throw Error(
        Code::kUsage,
        fmt::format("--device {} {} in one process, this is one of {}", device,
                    mode ? invocation.command + "s" : "trains", place.size),
        mode ? "without --processes" : "--device cpu has the replicas spread over processes");
  }
  if (mode && ReplicasIn(job.estimator, *mode) != ReplicasOf(job.estimator)) {
    throw Error(
        Code::kUsage,
        fmt::format("{} runs on {} of {} replicas, which one process has", invocation.command,
                    ReplicasIn(job.estimator, *mode), ReplicasOf(job.estimator)),
        "without --processes; use_tpu: true (and eval_on_tpu: true) has it run on all replicas");
  }
  for (const std::string& name : InputsOf(job, invocation)) {
    const auto input = job.input_fns.find(name);
    if (input == job.input_fns.end() || !data::ReadsStandardInput(input->second.source)) continue;
    throw Error(
        Code::kUsage,
        fmt::format("each of {} processes would get a part of the standard input", place.size),
        "files are read by all of them")
        .Key(fmt::format("input_fns.{}.source", name));
  }
}

// Without the blanks around it, as of a file's last line.
static std::string Bare(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

std::string ClusterToken(const Job& job, const hosts::VariableLookup& environment) {
  constexpr size_t kLeastBytes = 16;
  std::vector<std::pair<std::string, std::string>> given;  // who says it, and the secret
  const auto add = [&given](const std::string& who, const std::string& text) {
    given.emplace_back(who, Bare(text));
  };
  const auto add_file = [&add](const std::string& who, const std::string& path) {
    if (!FileExists(path)) {
      throw Error(Code::kUsage, fmt::format("{}: {} is not there", who, path),
                  "a file with the cluster's token, in all processes");
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
                  "one of them");
    }
    if (secret.size() >= kLeastBytes) continue;
    throw Error(
        Code::kUsage,
        fmt::format("{} holds {} bytes; expected at least {}", who, secret.size(), kLeastBytes),
        "head -c 32 /dev/urandom | base64 draws a token");
  }
  return given.empty() ? "" : given.front().second;
}

// The module that speaks gRPC: beside the program, or where a package has it. Empty if this build
// has none; Error kUsage if it has one that was not copied along.
static std::string LinksModuleFile() {
  if (!TPUEST_HAS_LINKS) return "";
  const std::string beside = DirName(ThisProgramFile());
  const std::vector<std::string> folders = {beside, JoinPath(beside, "../lib/tpuest")};
  for (const std::string& folder : folders) {
    std::string file = JoinPath(folder, "tpuest_links.so");
    if (FileExists(file)) return file;
  }
  throw Error(Code::kUsage,
              fmt::format("tpuest_links.so, which connects processes by gRPC, is missing: looked "
                          "in {}",
                          Join(folders, " and ")),
              "copy it there from the build or the package that the program is from");
}

static hosts::Meeting MeetingOf(const Job& job, const hosts::ProcessPlace& place) {
  if (place.coordinator.starts_with(kLocalGroup)) {
    return {.folder = place.coordinator.substr(std::string_view(kLocalGroup).size())};
  }
  hosts::Meeting meeting{.chief = place.coordinator,
                         .token = ClusterToken(job, config::ProcessEnvironment),
                         .insecure = job.tpuest.cluster.insecure,
                         .module = LinksModuleFile()};
  if (!meeting.chief.empty()) return meeting;
  const auto& model_dir = job.estimator.run_config.model_dir;
  if (!model_dir) {
    throw Error(
        Code::kUsage,
        fmt::format("{} does not say where process 0 is, and there is no model_dir in which "
                    "it could say so",
                    place.launcher),
        "TPUEST_COORDINATOR=HOST:PORT, process 0's, or unix:FOLDER on one machine; a "
        "model_dir that all processes share");
  }
  meeting.file = RendezvousPath(*model_dir);
  return meeting;
}

hosts::GroupSettings SettingsOf(const Job& job, const hosts::ProcessPlace& place) {
  const DeadlineOptions& deadlines = job.tpuest.deadlines;
  return {.links = {.rank = static_cast<int>(place.rank),
                    .size = static_cast<int>(place.size),
                    .meeting = MeetingOf(job, place),
                    .rendezvous_secs = deadlines.rendezvous_secs},
          .peer_secs = deadlines.peer_secs,
          .step_secs = deadlines.step_secs};
}

bool IsLeftToChief(const Invocation& invocation) {
  const hosts::ProcessPlace place = hosts::PlaceInGroup(config::ProcessEnvironment, std::nullopt);
  if (place.rank == 0 || !ReadTfConfig(ClusterRules::kStrategy).cluster.empty()) return false;
  const SystemClock clock;
  Console console(invocation, clock);
  console.log().Info("{}: process 0 does what {} says", hosts::PlaceText(place),
                     invocation.command);
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
