#pragma once
// Runs commands as one of several processes that a launcher has started.

#include "cli/run/tf_config.h"
#include "cli/shell/invocation.h"
#include "cli/shell/json.h"
#include "config/diagnostics.h"
#include "core/hosts/group.h"
#include "core/hosts/launch.h"

namespace tpuest::cli {

struct Job;

// The rules by which the job's TF_CONFIG is read.
[[nodiscard]] ClusterRules RulesOf(const Job& job);

// Returns this process's place in its group by TF_CONFIG's cluster or a launcher's variables. Error
// kUsage if they disagree.
[[nodiscard]] hosts::ProcessPlace ThisProcess(const TfConfig& config);

// Prefix of the coordinator of a group on one machine: unix:FOLDER, the folder of its processes'
// sockets.
inline constexpr const char* kLocalGroup = "unix:";

// Sets num_replicas of the job's strategies with one replica per process to the number of
// processes.
void SpreadReplicas(const hosts::ProcessPlace& place, tpuest::RunConfig& run_config);

// Whether this command trains as one of a group's processes.
[[nodiscard]] bool TrainsInGroup(const hosts::ProcessPlace& place, const Invocation& invocation);
// Whether it works with the group's other processes: it trains, or evaluates or predicts on the
// replicas of all of them. Tasks of a cluster in TF_CONFIG are started one by one, so each does
// what it was asked.
[[nodiscard]] bool WorksInGroup(const Job& job, const hosts::ProcessPlace& place,
                                const Invocation& invocation);
// Throws Error kUsage if the job cannot be trained, evaluated or predicted in that many processes.
void CheckGroup(const Job& job, const hosts::ProcessPlace& place, const Invocation& invocation);
// Returns how this process finds the other processes, and how long it waits for them. Error kUsage
// if nothing says where they meet, and for a token that ClusterToken refuses.
[[nodiscard]] hosts::GroupSettings SettingsOf(const Job& job, const hosts::ProcessPlace& place);

// Returns the secret that the processes of a cluster share, from TPUEST_CLUSTER_TOKEN, the file
// that TPUEST_CLUSTER_TOKEN_FILE names, or tpuest.cluster.token_file; empty if none is set. Error
// kUsage if two of them differ, for a file that cannot be read and for a secret that is too short.
[[nodiscard]] std::string ClusterToken(const Job& job, const hosts::VariableLookup& environment);

// Returns true, and logs it, if only process 0 runs a command that reads a run (evaluate, predict,
// export): this is another process of the group.
[[nodiscard]] bool IsLeftToChief(const Invocation& invocation);
// The same for evaluate and predict, which all processes run together if WorksInGroup says so.
[[nodiscard]] bool IsLeftToChief(const Invocation& invocation, config::Sources& sources);

// Returns the place as fields of a document, without host names; null for a process outside a
// group.
[[nodiscard]] Json ProcessJson(const hosts::ProcessPlace& place);

}  // namespace tpuest::cli
