#pragma once
// Commands as one of several processes that a launcher has started.

#include "cli/run/tf_config.h"
#include "cli/shell/invocation.h"
#include "cli/shell/json.h"
#include "core/hosts/launch.h"

namespace tpuest::cli {

struct Job;

// The rules by which the job's TF_CONFIG is read.
[[nodiscard]] ClusterRules RulesOf(const Job& job);

// This process among those that a cluster of TF_CONFIG or a launcher's variables tell of. Error
// kUsage where they do not agree.
[[nodiscard]] ProcessPlace ThisProcess(const TfConfig& config);

// Error kUsage for a command that trains as one of several processes.
void CheckTrainsAlone(const ProcessPlace& place, const Invocation& invocation);

// Whether a command that reads a run (evaluate, predict, export) is left to process 0, which has
// its result: it says so. Tasks of a cluster in TF_CONFIG are started one by one, so each does what
// it was asked.
[[nodiscard]] bool IsLeftToChief(const Invocation& invocation);

// The place as fields of a document, without the name of a host; null for a process that is alone.
[[nodiscard]] Json ProcessJson(const ProcessPlace& place);

}  // namespace tpuest::cli
