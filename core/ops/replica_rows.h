#pragma once
// Rows of a table that replicas have gradients of, over all replicas: what is summed are the rows
// that are there, never the table.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct GatheredRows {
  Value indices;  // [replicas * n]
  Value values;   // [replicas * n, ...]
};
// The rows of all replicas, in their order: numbers [n], int32 or int64, and values [n, ...], of
// the same shapes on each. With a table's name they are for its update and nothing else: numbers of
// rows that another process owns may be -1 there, and their values are any finite numbers then.
GatheredRows GatherRows(Value indices, Value values, int replicas, const std::string& table = "");

struct SummedRows {
  Value indices;  // [m]: each row that is there once, then -1
  Value sums;     // [m, D]: behind the rows zeros
};
// Sums rows over replicas: of m / replicas rows each, one replica behind the other; indices [m] is
// int32 or int64, -1 for none, no row twice in a replica; values [m, D] float or double. A row is
// summed in the tree of CrossReplicaSum; a replica that does not have it is not added.
SummedRows SumRowsOfReplicas(Value indices, Value values, int replicas, std::string_view name = "");

OpFamily ReplicaRowOps();

}  // namespace tpuest::ops
