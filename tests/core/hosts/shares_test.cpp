#include "core/hosts/shares.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/base/error.h"
#include "core/sharding/tree.h"

namespace tpuest::hosts {
namespace {

// Numbers of very different sizes, so that nearly every other order of additions changes the sum.
std::vector<float> Drawn(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    const auto mantissa =
        static_cast<float>(static_cast<int64_t>(random() % 2'000'001) - 1'000'000);
    values.push_back(std::ldexp(mantissa, static_cast<int>(random() % 24) - 32));
  }
  return values;
}

// The sum that the processes compute, each with the replicas of its share.
float SumOver(const std::vector<float>& values, const std::vector<ReplicaRange>& shares) {
  const auto replicas = static_cast<int>(values.size());
  std::vector<ReplicaRange> parts;
  std::vector<float> partial;
  for (const ReplicaRange& share : shares) {
    for (const ReplicaRange& part : PartialSumsOf(replicas, share)) {
      parts.push_back(part);
      partial.push_back(TreeSum(std::span(values).subspan(static_cast<size_t>(part.first),
                                                          static_cast<size_t>(part.count))));
    }
  }
  for (const auto& [into, from] : AdditionsOver(replicas, parts)) partial[into] += partial[from];
  return partial[0];
}

bool SameBits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

std::vector<ReplicaRange> EqualShares(int replicas, int processes) {
  std::vector<ReplicaRange> shares;
  for (int rank = 0; rank < processes; ++rank) {
    shares.push_back(ShareOf(replicas, processes, rank));
  }
  return shares;
}

// Random shares in which every process has at least one replica.
std::vector<ReplicaRange> DrawnShares(int replicas, int processes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ReplicaRange> shares;
  int first = 0;
  for (int rank = 0; rank < processes; ++rank) {
    const int spare = replicas - first - (processes - rank);
    const int more = spare > 0 ? static_cast<int>(random() % static_cast<uint64_t>(spare + 1)) : 0;
    const int count = rank + 1 == processes ? replicas - first : 1 + more;
    shares.push_back({first, count});
    first += count;
  }
  return shares;
}

TEST_CASE("the sum over processes is bit-identical to one process for every divisor") {
  for (int replicas = 1; replicas <= 24; ++replicas) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const std::vector<float> values = Drawn(replicas, seed);
      const float alone = TreeSum<float>(values);
      for (int processes = 1; processes <= replicas; ++processes) {
        if (replicas % processes != 0) continue;
        CAPTURE(replicas);
        CAPTURE(processes);
        REQUIRE(SameBits(SumOver(values, EqualShares(replicas, processes)), alone));
      }
    }
  }
}

TEST_CASE("the sum over processes is bit-identical for shares of any sizes") {
  for (int replicas = 1; replicas <= 24; ++replicas) {
    for (int processes = 1; processes <= replicas; ++processes) {
      for (uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<float> values = Drawn(replicas, seed);
        CAPTURE(replicas);
        CAPTURE(processes);
        REQUIRE(SameBits(SumOver(values, DrawnShares(replicas, processes, seed)),
                         TreeSum<float>(values)));
      }
    }
  }
}

TEST_CASE("the test's numbers reveal another order of the same additions") {
  int differ = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    float ring = 0;
    const std::vector<float> values = Drawn(8, seed);
    for (const float value : values) ring += value;
    differ += SameBits(ring, TreeSum<float>(values)) ? 0 : 1;
  }
  CHECK(differ > 50);
}

TEST_CASE("a process sends one partial sum if its share is a power of two") {
  for (int replicas = 1; replicas <= 24; ++replicas) {
    for (int processes = 1; processes <= replicas; ++processes) {
      if (replicas % processes != 0) continue;
      const int share = replicas / processes;
      const bool is_power = std::has_single_bit(static_cast<unsigned>(share)) || processes == 1;
      for (const ReplicaRange& each : EqualShares(replicas, processes)) {
        CAPTURE(replicas);
        CAPTURE(processes);
        if (is_power) CHECK(PartialSumsOf(replicas, each) == std::vector{each});
      }
    }
  }
  using Parts = std::vector<ReplicaRange>;
  CHECK(PartialSumsOf(12, {0, 6}) == Parts{{0, 4}, {4, 2}});
  CHECK(PartialSumsOf(12, {6, 6}) == Parts{{6, 2}, {8, 4}});
  CHECK(PartialSumsOf(7, {4, 3}) == Parts{{4, 3}});
  CHECK(PartialSumsOf(7, {3, 4}) == Parts{{3, 1}, {4, 3}});
}

TEST_CASE("replicas that do not divide evenly are refused with the nearest numbers of processes") {
  const auto fault = [](int replicas, int processes) {
    try {
      (void)ShareOf(replicas, processes, 0);
      return std::string("none");
    } catch (const Error& error) {
      return error.message() + "; " + error.faults()[0].hint;
    }
  };
  CHECK(ShareOf(12, 3, 1) == ReplicaRange{4, 4});
  CHECK(fault(8, 3) ==
        "8 replicas do not divide evenly among 3 processes; nearest: 2 or 4 processes, or another "
        "num_shards");
  CHECK(fault(8, 16).ends_with("nearest: 8 processes, or another num_shards"));
  CHECK(fault(7, 2).ends_with("nearest: 1 or 7 processes, or another num_shards"));
}

TEST_CASE("partial sums that leave a replica out fail a check") {
  const std::vector<ReplicaRange> parts = {{0, 2}, {3, 1}};
  CHECK_THROWS_AS((void)AdditionsOver(4, parts), InternalError);
}

TEST_CASE("buckets carry every element once, in the order of the sums") {
  const std::vector<int64_t> elements = {5, 0, 3, 12};
  const std::vector<Bucket> buckets = BucketsOf(elements, 8);
  REQUIRE(buckets.size() == 3);
  const auto text = [](const Bucket& bucket) {
    std::string all;
    for (const BucketPiece& piece : bucket) {
      all += fmt::format("{}[{},{}) ", piece.sum, piece.begin, piece.end);
    }
    return all;
  };
  CHECK(text(buckets[0]) == "0[0,5) 2[0,3) ");
  CHECK(text(buckets[1]) == "3[0,8) ");
  CHECK(text(buckets[2]) == "3[8,12) ");
  CHECK(BucketsOf(std::vector<int64_t>{0, 0}, 8).empty());
}

TEST_CASE("each element of a bucket is added by one process") {
  for (const int64_t elements : {0, 1, 7, 8, 1000}) {
    for (int processes = 1; processes <= 9; ++processes) {
      int64_t next = 0;
      for (int rank = 0; rank < processes; ++rank) {
        const ElementRange owned = OwnedBy(elements, processes, rank);
        CHECK(owned.begin == next);
        CHECK(owned.end - owned.begin <= elements / processes + 1);
        next = owned.end;
      }
      CHECK(next == elements);
    }
  }
}

}  // namespace
}  // namespace tpuest::hosts
