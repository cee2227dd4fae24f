#pragma once
// Batches that do not divide by the replicas, filled up with copies of their first row; the
// example_weight [batch] that they get is 1 for the rows that were there, and 0 for the others.

#include <cstdint>
#include <memory>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// The batch with `rows` rows.
[[nodiscard]] Batch FilledUp(const Batch& batch, int64_t rows);

// The stream with its batches of `from` rows filled up to `rows`; shorter ones stay as they are.
[[nodiscard]] std::unique_ptr<BatchStream> FilledUp(std::unique_ptr<BatchStream> stream,
                                                    int64_t from, int64_t rows);

}  // namespace tpuest
