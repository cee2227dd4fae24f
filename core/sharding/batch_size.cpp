#include "core/sharding/batch_size.h"

#include <algorithm>
#include <string>

namespace tpuest {

std::vector<int64_t> NearestBatchSizes(int64_t batch_size, int replicas) {
  const int64_t below = batch_size / replicas * replicas;
  std::vector<int64_t> sizes;
  if (below > 0) sizes.push_back(below);
  if (below != batch_size) sizes.push_back(below + replicas);
  return sizes;
}

int64_t FilledUpSize(int64_t batch_size, int replicas) {
  return (batch_size + replicas - 1) / replicas * replicas;
}

int NearestReplicas(int64_t batch_size, int replicas) {
  int nearest = static_cast<int>(std::min<int64_t>(replicas, batch_size));
  while (nearest > 1 && batch_size % nearest != 0) --nearest;
  return std::max(nearest, 1);
}

std::optional<Fault> CheckBatchSize(std::string_view mode, int64_t batch_size, int replicas) {
  if (batch_size % replicas == 0) return std::nullopt;
  const std::string key = fmt::format("{}_batch_size", mode);
  std::string hint = "nearest: ";
  for (const int64_t size : NearestBatchSizes(batch_size, replicas)) {
    hint += fmt::format("{}={}, or ", key, size);
  }
  hint += fmt::format("tpu_config.num_shards={}, or tpuest.uneven_batches=pad",
                      NearestReplicas(batch_size, replicas));
  return Fault{fmt::format("{} batch size {} must be divisible by number of replicas {}", mode,
                           batch_size, replicas),
               hint,
               key,
               {},
               0};
}

}  // namespace tpuest
