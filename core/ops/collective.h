#pragma once
// Sums across replicas.

#include <string_view>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// The sum of x over all `num_shards` replicas, in the fixed tree (tpu_ops.cross_replica_sum with
// its default group of all replicas), of x's shape and dtype.
Value CrossReplicaSum(Value x, int num_shards, std::string_view name = "");
// x on the replica of this number, zeros on the others. x differs by replica.
Value OfReplica(Value x, int replica, std::string_view name = "");

OpFamily CollectiveOps();

}  // namespace tpuest::ops
