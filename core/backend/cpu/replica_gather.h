#pragma once
// What every replica has of a value, one behind the other: each process copies that of its own
// replicas and, in a group, gets the others' from theirs. Of the gradients of a table whose rows
// processes share, each gets those of the rows that it owns.

#include <functional>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/cpu/threads.h"
#include "core/backend/plan.h"
#include "core/backend/row_keeping.h"
#include "core/tensor/dtype.h"

namespace tpuest {

struct GatherJob {
  Buffer in;
  Buffer out;        // of all replicas
  size_t bytes = 0;  // of one replica
  // Numbers of rows of this table (int32 or int64 [n]), or what belongs to them ([n, ...]): its
  // update alone reads it (graph.h: kRowsOf). nullptr: of no table that is kept by rows.
  const RowColumn* rows = nullptr;
  DType dtype = DType::kFloat;
};

// Fills the `out` of all jobs. `here`: the replicas of this process; `at` gives a buffer's memory
// for one of them, counted from the first. `collective`: nullptr where all replicas are here. Of a
// table that is shared, numbers of rows that others own become -1; replicas elsewhere have theirs
// in front, and behind them -1 and zeros.
void GatherReplicas(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                    const std::function<char*(Buffer, int replica)>& at, ThreadTeam& team,
                    Collective* collective);

}  // namespace tpuest
