#pragma once
// Sources made of other sources: concatenated, or zipped.

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// The records of all parts, part after part. All parts must have the columns of the first, in any
// order; otherwise throws kUsage at keys[part].
[[nodiscard]] std::shared_ptr<IndexedSource> Chained(
    std::vector<std::shared_ptr<IndexedSource>> parts, const std::vector<std::string>& keys);

// Record i has the columns of record i of all parts; the shortest part determines the number of
// records. Throws kUsage at keys[part] for a column that an earlier part already has.
[[nodiscard]] std::shared_ptr<IndexedSource> Zipped(
    std::vector<std::shared_ptr<IndexedSource>> parts, const std::vector<std::string>& keys);

// The index of every file's first record, and the end. An empty file begins where the next one
// begins.
[[nodiscard]] std::vector<int64_t> FileStarts(const IndexedSource& source);

}  // namespace tpuest::data
