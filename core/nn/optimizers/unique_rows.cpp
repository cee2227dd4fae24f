#include "core/nn/optimizers/unique_rows.h"

#include "core/ops/array.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"

namespace tpuest::nn {

UniqueRows SumDuplicates(const IndexedSlices& slices) {
  if (slices.once) return {slices.values, slices.indices};
  const ops::UniqueResult unique = ops::Unique(slices.indices);
  return {ops::UnsortedSegmentSum(slices.values, unique.idx, ops::Size(unique.y)), unique.y};
}

UniqueRows SumOverReplicas(const IndexedSlices& slices, int replicas, const std::string& table) {
  const UniqueRows own = SumDuplicates(slices);
  if (replicas == 1) return own;
  const auto [indices, sums] = ops::GatherRows(own.indices, own.sums, replicas, table);
  const ops::SummedRows rows = ops::SumRowsOfReplicas(indices, sums, replicas);
  return {.sums = rows.sums, .indices = rows.indices};
}

IndexedSlices SumInLookups(const IndexedSlices& slices) {
  if (slices.distinct) {
    const UniqueRows rows = SumDuplicates(slices);
    return {rows.sums, rows.indices, slices.rows};
  }
  if (slices.parts.empty()) return slices;
  std::vector<Value> values;
  std::vector<Value> indices;
  for (const IndexedSlices& lookup : slices.parts) {
    const IndexedSlices summed = SumInLookups(lookup);
    values.push_back(summed.values);
    indices.push_back(summed.indices);
  }
  return {ops::ConcatV2(values, 0), ops::ConcatV2(indices, 0), slices.rows};
}

}  // namespace tpuest::nn
