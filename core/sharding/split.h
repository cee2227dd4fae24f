#pragma once
// A global batch is split evenly and in order over replicas: of B rows and R replicas, replica r
// gets rows r*B/R .. (r+1)*B/R - 1.

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// Views of the batch, one a replica; axis 0 is a multiple of `replicas`.
[[nodiscard]] std::vector<Tensor> SplitRows(const Tensor& batch, int replicas);

// The opposite: one tensor of all rows, in the order of the parts. All have the same dtype and the
// same shape but for axis 0. One part is returned as it is.
[[nodiscard]] Tensor ConcatRows(const std::vector<Tensor>& parts);

// `batch` followed by copies of its first row up to `rows` rows. It has at least one.
[[nodiscard]] Tensor PadRows(const Tensor& batch, int64_t rows);

// The example_weight of a batch of `rows` whose first `examples` are no padding: float [rows], 1
// for those and 0 for the rest.
[[nodiscard]] Tensor ExampleWeight(int64_t examples, int64_t rows);

}  // namespace tpuest
