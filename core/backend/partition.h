#pragma once
// The partition of a tensor over the cores of a replica: dims[i] is the number of parts of
// dimension i, and the product of dims is the number of cores. A part of a dimension d in p parts
// has ceil(d / p) entries, the last parts fewer or none: 5 in 4 parts is 2, 2, 1, 0. Parts go to
// cores in row-major order.

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

using Partition = std::vector<int64_t>;  // empty: every core has the whole tensor

// The largest part's shape, which is the first core's; every core takes as much memory.
[[nodiscard]] Shape FirstPartShape(const Shape& shape, const Partition& dims);
// The shape of a core's part.
[[nodiscard]] Shape PartShape(const Shape& shape, const Partition& dims, int core);
// A core's part of a tensor of numbers, filled up with zeros to FirstPartShape.
[[nodiscard]] Tensor PaddedPart(const Tensor& tensor, const Partition& dims, int core);
// Copies a padded part to its place in the whole tensor.
void PutPaddedPart(const Tensor& part, const Partition& dims, int core, Tensor& whole);

}  // namespace tpuest
