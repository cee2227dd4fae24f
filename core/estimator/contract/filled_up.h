#pragma once
// Pads batches that do not divide evenly over the replicas with copies of their first row. Their
// example_weight [batch] is 1 for the original rows and 0 for padding.

#include <cstdint>
#include <memory>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// Returns the batch padded to `rows` rows.
[[nodiscard]] Batch FilledUp(const Batch& batch, int64_t rows);

// Returns a stream whose batches of `from` rows are padded to `rows`; shorter batches stay as they
// are.
[[nodiscard]] std::unique_ptr<BatchStream> FilledUp(std::unique_ptr<BatchStream> stream,
                                                    int64_t from, int64_t rows);

}  // namespace tpuest
