#pragma once
// What every replica has of a value, one behind the other: each process copies that of its own
// replicas and, in a group, gets the others' from theirs.

#include <functional>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/plan.h"

namespace tpuest {

struct GatherJob {
  Buffer in;
  Buffer out;        // of all replicas
  size_t bytes = 0;  // of one replica
};

// Fills the `out` of all jobs. `here`: the replicas of this process; `at` gives a buffer's memory
// for one of them, counted from the first. `collective`: nullptr where all replicas are here.
void GatherReplicas(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                    const std::function<char*(Buffer, int replica)>& at, Collective* collective);

}  // namespace tpuest
