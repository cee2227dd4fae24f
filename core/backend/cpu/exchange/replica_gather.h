#pragma once
// The rows that every replica has gradients of, one replica behind the other: each process copies
// those of its own replicas and, in a group, gets the others' from theirs, in pieces of 256 KiB or
// so. Of a table whose rows processes share, each gets those that it owns.

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
  Buffer out;        // of all replicas
  size_t bytes = 0;  // of one replica
};

struct GatherJob {
  GatherPart numbers;           // [n]
  GatherPart values;            // [n, ...]
  DType dtype = DType::kInt64;  // of the numbers; or int32
  // The table whose update alone reads them (graph.h: kRowsOf). nullptr: another reads them, or
  // they are of no table that is kept by rows.
  const RowColumn* rows = nullptr;
};

// Fills the `out` of all jobs: the begin with what is of this process, which leaves for the others,
// the end with what comes of them. `here`: the replicas of this process; `at` gives a buffer's
// memory for one of them, counted from the first. `collective`: nullptr where all replicas are
// here. Of a table that is shared the rows that this process owns alone are there: each replica
// has its own in front, and behind them -1; the values of a -1 are not read.
void BeginGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                 const std::function<char*(Buffer, int replica)>& at, ThreadTeam& team,
                 Collective* collective);
void EndGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
               const std::function<char*(Buffer, int replica)>& at, Collective* collective);

}  // namespace tpuest
