#include "core/hosts/shares.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace tpuest::hosts {
namespace {

// "2 or 4": the divisors of `replicas` next to `processes`.
std::string NearestText(int replicas, int processes) {
  int below = std::min(processes, replicas);
  while (replicas % below != 0) --below;
  int above = processes;
  while (above < replicas && replicas % above != 0) ++above;
  if (above > replicas || above == below) return std::to_string(below);
  return fmt::format("{} or {}", below, above);
}

// Whether two nodes are the halves of a node of twice their width. The right half may be narrower
// at the end of a level.
bool AreHalves(int replicas, int width, const ReplicaRange& left, const ReplicaRange& right) {
  const int end = std::min(left.first + 2 * width, replicas);
  return left.first % (2 * width) == 0 && left.count == width && right.first == left.end() &&
         right.end() == end;
}

}  // namespace

ReplicaRange ShareOf(int replicas, int processes, int rank) {
  if (replicas % processes != 0) {
    throw Error(
        Code::kUsage,
        fmt::format("{} replicas do not divide evenly among {} processes", replicas, processes),
        fmt::format("nearest: {} processes, or another num_shards",
                    NearestText(replicas, processes)));
  }
  const int count = replicas / processes;
  return {rank * count, count};
}

std::vector<ReplicaRange> PartialSumsOf(int replicas, ReplicaRange share) {
  std::vector<ReplicaRange> parts;
  int first = share.first;
  while (first < share.end()) {
    // A node begins at a multiple of its width; the last node of a level may be narrower.
    int width = 1;
    while (first % (2 * width) == 0 && std::min(first + 2 * width, replicas) <= share.end() &&
           first + width < share.end()) {
      width *= 2;
    }
    const int end = std::min(first + width, replicas);
    parts.push_back({first, end - first});
    first = end;
  }
  return parts;
}

std::vector<PartialAddition> AdditionsOver(int replicas, std::span<const ReplicaRange> parts) {
  std::vector<PartialAddition> additions;
  std::vector<ReplicaRange> held(parts.begin(), parts.end());
  std::vector<size_t> slots;
  for (size_t i = 0; i < held.size(); ++i) slots.push_back(i);
  for (int width = 1; width < replicas; width *= 2) {
    size_t kept = 0;
    for (size_t i = 0; i < held.size(); ++i) {
      held[kept] = held[i];
      slots[kept] = slots[i];
      if (i + 1 < held.size() && AreHalves(replicas, width, held[i], held[i + 1])) {
        additions.push_back({slots[i], slots[i + 1]});
        held[kept].count += held[i + 1].count;
        ++i;
      }
      ++kept;
    }
    held.resize(kept);
    slots.resize(kept);
  }
  const ReplicaRange all{0, replicas};
  Check(held.size() == 1 && held[0] == all, "partial sums of {} replicas do not cover them",
        replicas);
  return additions;
}

std::vector<Bucket> BucketsOf(std::span<const int64_t> elements, int64_t most) {
  std::vector<Bucket> buckets;
  int64_t room = 0;
  for (size_t sum = 0; sum < elements.size(); ++sum) {
    for (int64_t begin = 0; begin < elements[sum];) {
      if (room == 0) {
        buckets.emplace_back();
        room = most;
      }
      const int64_t end = begin + std::min(room, elements[sum] - begin);
      buckets.back().push_back({sum, begin, end});
      room -= end - begin;
      begin = end;
    }
  }
  return buckets;
}

ElementRange OwnedBy(int64_t elements, int processes, int rank) {
  const int64_t share = elements / processes;
  const int64_t longer = elements % processes;
  const int64_t begin = rank * share + std::min<int64_t>(rank, longer);
  return {begin, begin + share + (rank < longer ? 1 : 0)};
}

}  // namespace tpuest::hosts
