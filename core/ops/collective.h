#pragma once
// Sums across replicas.

#include <string_view>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Returns the sum of x over all `num_shards` replicas, in the fixed tree (tpu_ops.cross_replica_sum
// with its default group of all replicas), in x's shape and dtype.
Value CrossReplicaSum(Value x, int num_shards, std::string_view name = "");
// Returns x on the replica of this number and zeros on all others, so the result differs by
// replica.
Value OfReplica(Value x, int replica, std::string_view name = "");

OpFamily CollectiveOps();

}  // namespace tpuest::ops
