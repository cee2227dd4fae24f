#pragma once
// Sparse gradients as the optimizers' rules for rows take them.

#include <string>

#include "core/graph/gradient.h"

namespace tpuest::nn {

// Each row of a gradient once: the sum of its values, in their order, and its number. Where the
// graph runs there are as many as the gradient has values, behind the rows -1: no row.
struct UniqueRows {
  Value sums;
  Value indices;
};

[[nodiscard]] UniqueRows SumDuplicates(const IndexedSlices& slices);

// The same over all replicas. `table`: whose update alone reads them, or "" (ops::GatherRows).
[[nodiscard]] UniqueRows SumOverReplicas(const IndexedSlices& slices, int replicas,
                                         const std::string& table = "");

// The slices with each row once in each lookup of distinct ids: the values that clipping sees.
[[nodiscard]] IndexedSlices SumInLookups(const IndexedSlices& slices);

}  // namespace tpuest::nn
