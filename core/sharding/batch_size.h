#pragma once
// Divides a batch among replicas by TPUEstimator's rules, with its messages for a batch that does
// not divide.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tpuest {

// The number of replicas on the CPU engine if num_shards is not given: that of one TPU board.
inline constexpr int kDefaultNumShards = 8;

// Returns the legal batch sizes next to `batch_size`: the one below and the one above, both at
// least `replicas`.
[[nodiscard]] std::vector<int64_t> NearestBatchSizes(int64_t batch_size, int replicas);
// Returns the smallest multiple of `replicas` that is at least `batch_size`.
[[nodiscard]] int64_t FilledUpSize(int64_t batch_size, int replicas);
// Returns the largest number of replicas, at most `replicas`, that divides the batch.
[[nodiscard]] int NearestReplicas(int64_t batch_size, int replicas);

// Returns a fault if the batch of a mode ("train", "eval", "predict") does not divide evenly:
// "train batch size 6 must be divisible by number of replicas 8", at the key "<mode>_batch_size".
[[nodiscard]] std::optional<Fault> CheckBatchSize(std::string_view mode, int64_t batch_size,
                                                  int replicas);

}  // namespace tpuest
