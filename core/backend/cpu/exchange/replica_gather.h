#pragma once
// Gathers the rows for which any replica has gradients, concatenated in order of replicas. Each
// process copies its own replicas' rows and, in a group, receives its peers' rows in pieces of
// about 256 KiB. For a table that processes share, each process receives only the rows that it
// owns.

#include <functional>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/plan.h"
#include "core/backend/rows/row_keeping.h"
#include "core/backend/threads.h"
#include "core/tensor/dtype.h"

namespace tpuest {

struct GatherPart {
  Buffer in;
  Buffer out;        // the rows of all replicas
  size_t bytes = 0;  // per replica
};

struct GatherJob {
  GatherPart numbers;           // [n]
  GatherPart values;            // [n, ...]
  DType dtype = DType::kInt64;  // of the numbers: kInt64 or kInt32
  // The table whose update is the only reader of the rows (graph.h: kRowsOf). nullptr: there are
  // other readers, or the table is not kept by rows.
  const RowColumn* rows = nullptr;
};

// Fill the `out` of all jobs. BeginGather fills in this process's rows and sends them to the peers;
// EndGather fills in the rows that the peers sent. `here`: the replicas of this process; `at`
// returns a buffer's memory for one of them, counted from the first. `collective` is nullptr if all
// replicas are here. For a shared table only the rows that this process owns are filled in: each
// replica's come first, followed by row numbers -1, whose values are not read.
void BeginGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                 const std::function<char*(Buffer, int replica)>& at, ThreadTeam& team,
                 Collective* collective);
void EndGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
               const std::function<char*(Buffer, int replica)>& at, Collective* collective);

}  // namespace tpuest
