#pragma once
// Commands as one of several processes that a launcher has started.

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

// This process among those that a cluster of TF_CONFIG or a launcher's variables tell of. Error
// kUsage where they do not agree.
[[nodiscard]] hosts::ProcessPlace ThisProcess(const TfConfig& config);

// What the coordinator of a group of one machine begins with: unix:FOLDER, in which its processes
// have their sockets.
inline constexpr const char* kLocalGroup = "unix:";

// Gives the job's strategies that have a replica in each process as many as there are processes.
void SpreadReplicas(const hosts::ProcessPlace& place, tpuest::RunConfig& run_config);

// Whether this command trains as one of a group's processes.
[[nodiscard]] bool TrainsInGroup(const hosts::ProcessPlace& place, const Invocation& invocation);
// Whether it works with the group's other processes: it trains, or evaluates or predicts on the
// replicas of all of them. Tasks of a cluster in TF_CONFIG are started one by one, so each does
// what it was asked.
[[nodiscard]] bool WorksInGroup(const Job& job, const hosts::ProcessPlace& place,
                                const Invocation& invocation);
// Error kUsage for what cannot be trained, evaluated or predicted in so many processes.
void CheckGroup(const Job& job, const hosts::ProcessPlace& place, const Invocation& invocation);
// How this process finds the others, and waits for them. Error kUsage where nothing says where they
// meet, and for a token that ClusterToken refuses.
[[nodiscard]] hosts::GroupSettings SettingsOf(const Job& job, const hosts::ProcessPlace& place);

// The secret that the processes of a cluster share, of TPUEST_CLUSTER_TOKEN, the file that
// TPUEST_CLUSTER_TOKEN_FILE names, and tpuest.cluster.token_file; empty: there is none. Error
// kUsage where two of them are not the same, for a file that cannot be read and for a secret that
// could be guessed.
[[nodiscard]] std::string ClusterToken(const Job& job, const hosts::VariableLookup& environment);

// Whether a command that reads a run (evaluate, predict, export) and that is not done together is
// left to process 0, which has its result: it says so.
[[nodiscard]] bool IsLeftToChief(const Invocation& invocation);
// The same for evaluate and predict, which WorksInGroup may have done together.
[[nodiscard]] bool IsLeftToChief(const Invocation& invocation, config::Sources& sources);

// The place as fields of a document, without the name of a host; null for a process that is alone.
[[nodiscard]] Json ProcessJson(const hosts::ProcessPlace& place);

}  // namespace tpuest::cli
