#pragma once
// k-fold cross-validation: an input without one of N equal parts of its records, or only that part.

#include <cstdint>
#include <string>

#include "data/fold_options.h"
#include "data/source.h"

namespace tpuest::data {

// The records of fold `part.index` of `part.count`, or all others. Record i of the source, counted
// after skip and take, belongs to fold 1 + i mod count. row.from is that of the source. Throws
// kData at `key` if no record of an indexed source is left.
[[nodiscard]] AnySource TakeFold(AnySource source, const FoldPart& part, const std::string& key);

// The number of records, out of `records`, in the part.
[[nodiscard]] int64_t SizeOfFold(const FoldPart& part, int64_t records);

}  // namespace tpuest::data
