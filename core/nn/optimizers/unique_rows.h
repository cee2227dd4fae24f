#pragma once
// Sparse gradients in the form that the optimizers' sparse rules take.

#include <string>

#include "core/graph/gradient.h"

namespace tpuest::nn {

// Each row of a gradient once: its number, and the sum of its values in their order. At run time
// there are as many entries as the gradient has values; unused ones at the end have row number -1.
struct UniqueRows {
  Value sums;
  Value indices;
};

[[nodiscard]] UniqueRows SumDuplicates(const IndexedSlices& slices);

// Sums over all replicas. `table` names the table whose update is the only reader of the result, or
// is "" (ops::GatherRows).
[[nodiscard]] UniqueRows SumOverReplicas(const IndexedSlices& slices, int replicas,
                                         const std::string& table = "");

// Returns the slices with each row once per lookup of distinct ids: the values that clipping sees.
[[nodiscard]] IndexedSlices SumInLookups(const IndexedSlices& slices);

}  // namespace tpuest::nn
