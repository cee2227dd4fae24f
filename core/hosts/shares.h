#pragma once
// Replicas spread over processes so that the sum over all of them has the bits of one process.
//
// The tree over R replicas (core/sharding/tree.h) adds neighbours level by level, and an odd one at
// the end goes up unchanged. So a node of level k stands for the replicas from i 2^k to
// (i + 1) 2^k - 1, as far as there are any. A process holds consecutive replicas; it adds each
// largest node that it has whole, and sends these partial sums. Whoever has the partial sums of all
// processes, in the order of the replicas, goes on with the same additions: a neighbour's is added
// where both halves of a node are there. Where R / H is a power of two, that is one partial sum a
// process.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/backend/collective.h"

namespace tpuest::hosts {

// The replicas of one of `processes`, which have equally many. Error kUsage, with the numbers of
// processes next to it, where they do not divide.
[[nodiscard]] ReplicaRange ShareOf(int replicas, int processes, int rank);

// The largest nodes of the tree over `replicas` within a share, in order.
[[nodiscard]] std::vector<ReplicaRange> PartialSumsOf(int replicas, ReplicaRange share);

// One addition: partial sum `from` is added to `into`, which stands before it and is the left one.
struct PartialAddition {
  size_t into = 0;
  size_t from = 0;
};

// The additions, in order, that make the sum over all replicas of partial sums that cover them in
// order; it is in the first at the end.
[[nodiscard]] std::vector<PartialAddition> AdditionsOver(int replicas,
                                                         std::span<const ReplicaRange> parts);

// A bucket is what one exchange carries: elements of sums, in the order in which the sums are made.
struct BucketPiece {
  size_t sum = 0;
  int64_t begin = 0;  // elements of that sum
  int64_t end = 0;
};
using Bucket = std::vector<BucketPiece>;

// Sums of so many elements cut into buckets of at most `most` elements (at least 1); none is empty.
[[nodiscard]] std::vector<Bucket> BucketsOf(std::span<const int64_t> elements, int64_t most);

// The elements of a bucket that a process adds for all, begin to end: as equal parts as can be, in
// the order of the processes.
struct ElementRange {
  int64_t begin = 0;
  int64_t end = 0;
};
[[nodiscard]] ElementRange OwnedBy(int64_t elements, int processes, int rank);

}  // namespace tpuest::hosts
