#pragma once
// Sources made of others: one after the other, and side by side.

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// The records of all parts, one part after the other. The columns are those of the first; the
// others have the same, in any order. Throws Error kUsage at keys[part] where they do not.
[[nodiscard]] std::shared_ptr<IndexedSource> Chained(
    std::vector<std::shared_ptr<IndexedSource>> parts, const std::vector<std::string>& keys);

// Record i is record i of each part, as many as the shortest has, with the columns of all. Throws
// Error kUsage at keys[part] for a column that a part before it has.
[[nodiscard]] std::shared_ptr<IndexedSource> Zipped(
    std::vector<std::shared_ptr<IndexedSource>> parts, const std::vector<std::string>& keys);

// Where each file's records begin, and the end: a file that has none begins where the next does.
[[nodiscard]] std::vector<int64_t> FileStarts(const IndexedSource& source);

}  // namespace tpuest::data
