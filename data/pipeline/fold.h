#pragma once
// k-fold cross-validation: an input without one of N equal parts of its records, or that part.

#include <cstdint>
#include <string>

#include "data/fold_options.h"
#include "data/source.h"

namespace tpuest {

// Takes fold `part.index` of `part.count`: record i of the source, counted after skip and take,
// belongs to fold 1 + i mod count. Error kData at `key` where no record is left.
[[nodiscard]] AnySource TakeFold(AnySource source, const FoldPart& part, const std::string& key);

// So many of `records`.
[[nodiscard]] int64_t SizeOfFold(const FoldPart& part, int64_t records);

}  // namespace tpuest
