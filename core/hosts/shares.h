#pragma once
// Distributes replicas over processes so that sums are bit-identical to those of one process.
//
// The tree over R replicas (core/sharding/tree.h) adds neighbours level by level; an odd one at the
// end moves up unchanged. A node of level k therefore covers the replicas from i 2^k to (i + 1) 2^k
// - 1, as far as they exist. A process holds consecutive replicas. It adds the largest nodes that
// lie entirely within its share and sends these partial sums. The receiver of all partial sums, in
// replica order, performs the remaining additions of the same tree: two neighbours are added once
// both halves of a node are known. If R / H is a power of two, a process sends one partial sum.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/backend/collective.h"

namespace tpuest::hosts {

// The replicas of process `rank`; all processes have equally many. Throws kUsage, naming the
// nearest valid numbers of processes, if `replicas` is not a multiple of `processes`.
[[nodiscard]] ReplicaRange ShareOf(int replicas, int processes, int rank);

// The largest nodes of the tree over `replicas` that lie within a share, in order.
[[nodiscard]] std::vector<ReplicaRange> PartialSumsOf(int replicas, ReplicaRange share);

// One addition: partial sum `from`, the right operand, is added to `into`, the left one; into <
// from.
struct PartialAddition {
  size_t into = 0;
  size_t from = 0;
};

// The additions, in order, that sum `parts`, which cover all replicas in order. The result ends up
// in parts[0].
[[nodiscard]] std::vector<PartialAddition> AdditionsOver(int replicas,
                                                         std::span<const ReplicaRange> parts);

// A bucket lists the elements that one exchange carries, in the order of the sums.
struct BucketPiece {
  size_t sum = 0;
  int64_t begin = 0;  // first element of that sum
  int64_t end = 0;
};
using Bucket = std::vector<BucketPiece>;

// Cuts sums of `elements` elements each into buckets of at most `most` elements (`most` >= 1). No
// bucket is empty.
[[nodiscard]] std::vector<Bucket> BucketsOf(std::span<const int64_t> elements, int64_t most);

// The elements [begin, end) of a bucket that process `rank` adds for all. Sizes differ by at most
// one, and ranges are in rank order.
struct ElementRange {
  int64_t begin = 0;
  int64_t end = 0;
};
[[nodiscard]] ElementRange OwnedBy(int64_t elements, int processes, int rank);

}  // namespace tpuest::hosts
