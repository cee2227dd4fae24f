#pragma once
// A batch divides among replicas by TPUEstimator's rules, and is refused in its words.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tpuest {

// Replicas of a run on the CPU engine if num_shards is not given: one TPU board's.
inline constexpr int kDefaultNumShards = 8;

// The legal batch sizes next to `batch_size` (below and above, at least `replicas`).
[[nodiscard]] std::vector<int64_t> NearestBatchSizes(int64_t batch_size, int replicas);
// The smallest multiple of `replicas` that is at least `batch_size`.
[[nodiscard]] int64_t FilledUpSize(int64_t batch_size, int replicas);
// The largest number of replicas that divides the batch, at most `replicas`.
[[nodiscard]] int NearestReplicas(int64_t batch_size, int replicas);

// The fault if a batch of a mode ("train", "eval", "predict") does not divide evenly, as
// "train batch size 6 must be divisible by number of replicas 8"; its key is "<mode>_batch_size".
[[nodiscard]] std::optional<Fault> CheckBatchSize(std::string_view mode, int64_t batch_size,
                                                  int replicas);

}  // namespace tpuest
