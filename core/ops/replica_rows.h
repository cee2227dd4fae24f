#pragma once
// Combines the rows of a table for which replicas have gradients; only these rows are summed, never
// the whole table.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct GatheredRows {
  Value indices;  // [replicas * n]
  Value values;   // [replicas * n, ...]
};
// Gathers the rows of all replicas, in replica order: numbers [n], int32 or int64, and values [n,
// ...], of the same shapes on each replica. With a table's name, only that table's update reads the
// result: the numbers of rows that another process owns may then be -1, with any finite values.
GatheredRows GatherRows(Value indices, Value values, int replicas, const std::string& table = "");

struct SummedRows {
  Value indices;  // [m]: each row once, then -1
  Value sums;     // [m, D]: zeros after the rows
};
// Sums rows over replicas. The inputs are m / replicas rows per replica, concatenated: indices [m]
// int32 or int64, -1 for no row, no row twice in a replica; values [m, D] float or double. A row is
// summed in the tree of CrossReplicaSum, over the replicas that have it.
SummedRows SumRowsOfReplicas(Value indices, Value values, int replicas, std::string_view name = "");

OpFamily ReplicaRowOps();

}  // namespace tpuest::ops
