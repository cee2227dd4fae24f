#pragma once
// Splits a global batch evenly and in order over replicas: of B rows and R replicas, replica r gets
// rows r*B/R .. (r+1)*B/R - 1.

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// Returns views of the batch, one per replica; the size of axis 0 must be a multiple of `replicas`.
[[nodiscard]] std::vector<Tensor> SplitRows(const Tensor& batch, int replicas);

// Returns one tensor of all rows, in the order of the parts; the inverse of SplitRows. The parts
// have the same dtype and the same shape except along axis 0. A single part is returned as it is.
[[nodiscard]] Tensor ConcatRows(const std::vector<Tensor>& parts);

// Returns `batch`, extended to `rows` rows by copies of its first row; it must have at least one
// row.
[[nodiscard]] Tensor PadRows(const Tensor& batch, int64_t rows);

// Returns the example_weight of a batch of `rows` rows, float [rows]: 1 for the first `examples`, 0
// for the padding after them.
[[nodiscard]] Tensor ExampleWeight(int64_t examples, int64_t rows);

}  // namespace tpuest
