#include "core/nn/optimizers/unique_rows.h"

#include "core/ops/array.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {

UniqueRows SumDuplicates(const IndexedSlices& slices) {
  const ops::UniqueResult unique = ops::Unique(slices.indices);
  return {ops::UnsortedSegmentSum(slices.values, unique.idx, ops::Size(unique.y)), unique.y};
}

}  // namespace tpuest::nn
