#include "cli/run/process.h"

#include <string_view>

#include "cli/job/device.h"
#include "cli/job/job.h"
#include "cli/shell/console.h"
#include "config/tree.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/hosts/shares.h"

namespace tpuest::cli {

ClusterRules RulesOf(const Job& job) {
  const bool has_strategy = job.estimator.run_config.train_distribute.has_value();
  return has_strategy ? ClusterRules::kStrategy : ClusterRules::kRunConfig;
}

ProcessPlace ThisProcess(const TfConfig& config) {
  return PlaceInGroup(config::ProcessEnvironment, PlaceInCluster(config));
}

bool TrainsInGroup(const ProcessPlace& place, const Invocation& invocation) {
  const bool trains = invocation.command.starts_with("train") && place.role.empty();
  if (!trains || !place.is_one_of_several()) return false;
  if (place.coordinator.starts_with(kLocalGroup)) return true;
  throw Error(
      Code::kUsage,
      fmt::format("this is process {} of {} by {} ({}); a job trains on one machine", place.rank,
                  place.size, place.launcher, place.read_from),
      "start one process, or one and --processes N; TPUEST_COORDINATOR=unix:FOLDER, the "
      "same for all, joins those of one machine, TPUEST_NUM_PROCESSES=1 says that each is a "
      "job of its own");
}

void CheckGroup(const Job& job, const ProcessPlace& place, const Invocation& invocation) {
  (void)ShareOf(ReplicasOf(job.estimator), static_cast<int>(place.size),
                static_cast<int>(place.rank));
  const std::string device = DeviceName(invocation.device, job);
  if (device != "cpu") {
    throw Error(
        Code::kUsage,
        fmt::format("--device {} trains in one process, this is one of {}", device, place.size),
        "--device cpu has the replicas spread over processes");
  }
}

GroupSettings SettingsOf(const Job& job, const ProcessPlace& place) {
  const DeadlineOptions& deadlines = job.tpuest.deadlines;
  return {.links = {.rank = static_cast<int>(place.rank),
                    .size = static_cast<int>(place.size),
                    .folder = place.coordinator.substr(std::string_view(kLocalGroup).size()),
                    .rendezvous_secs = deadlines.rendezvous_secs},
          .peer_secs = deadlines.peer_secs,
          .step_secs = deadlines.step_secs};
}

bool IsLeftToChief(const Invocation& invocation) {
  const ProcessPlace place = PlaceInGroup(config::ProcessEnvironment, std::nullopt);
  if (place.rank == 0 || !ReadTfConfig(ClusterRules::kStrategy).cluster.empty()) return false;
  const SystemClock clock;
  Console console(invocation, clock);
  console.log().Info("{}: process 0 does what {} says", PlaceText(place), invocation.command);
  return true;
}

Json ProcessJson(const ProcessPlace& place) {
  if (place.launcher.empty()) return {};
  return {{"launcher", place.launcher},
          {"rank", place.role.empty() ? Json(place.rank) : Json()},
          {"role", place.role.empty() ? Json() : Json(place.role)},
          {"size", place.size}};
}

}  // namespace tpuest::cli
