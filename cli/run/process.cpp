#include "cli/run/process.h"

#include "cli/job/job.h"
#include "cli/shell/console.h"
#include "config/tree.h"
#include "core/base/clock.h"
#include "core/base/error.h"

namespace tpuest::cli {

ClusterRules RulesOf(const Job& job) {
  const bool has_strategy = job.estimator.run_config.train_distribute.has_value();
  return has_strategy ? ClusterRules::kStrategy : ClusterRules::kRunConfig;
}

ProcessPlace ThisProcess(const TfConfig& config) {
  return PlaceInGroup(config::ProcessEnvironment, PlaceInCluster(config));
}

void CheckTrainsAlone(const ProcessPlace& place, const Invocation& invocation) {
  const bool trains = invocation.command.starts_with("train") && place.role.empty();
  if (!trains || !place.is_one_of_several()) return;
  throw Error(Code::kUsage,
              fmt::format("this is process {} of {} by {} ({}); a job trains in one process",
                          place.rank, place.size, place.launcher, place.read_from),
              "start one, which has all num_shards replicas; TPUEST_NUM_PROCESSES=1 says that each "
              "is a job of its own");
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
