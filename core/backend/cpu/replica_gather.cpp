#include "core/backend/cpu/replica_gather.h"

#include <cstring>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace tpuest {
namespace {

// What a process sends: of each job the values of its replicas, in their order.
std::string MessageOf(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                      const std::function<char*(Buffer, int)>& at) {
  std::string message;
  for (const GatherJob& job : jobs) {
    message.append(at(job.out, 0) + static_cast<size_t>(here.first) * job.bytes,
                   static_cast<size_t>(here.count) * job.bytes);
  }
  return message;
}

}  // namespace

void GatherReplicas(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                    const std::function<char*(Buffer, int)>& at, Collective* collective) {
  if (jobs.empty()) return;
  for (const GatherJob& job : jobs) {
    char* to = at(job.out, 0) + static_cast<size_t>(here.first) * job.bytes;
    for (int r = 0; r < here.count; ++r, to += job.bytes) {
      std::memcpy(to, at(job.in, r), job.bytes);
    }
  }
  if (collective == nullptr) return;
  // Every process has as many replicas.
  const std::vector<std::string> all = collective->GatherInAll(MessageOf(jobs, here, at));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const size_t first = rank * static_cast<size_t>(here.count);
    if (first == static_cast<size_t>(here.first)) continue;
    std::string_view from = all[rank];
    for (const GatherJob& job : jobs) {
      const size_t bytes = static_cast<size_t>(here.count) * job.bytes;
      Check(bytes <= from.size(), "process {} gathers something else", rank);
      std::memcpy(at(job.out, 0) + first * job.bytes, from.data(), bytes);
      from.remove_prefix(bytes);
    }
  }
}

}  // namespace tpuest
