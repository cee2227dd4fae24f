#pragma once
// The entries of a checkpoint for tables that a run keeps by rows (row_tables.h).

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/io/bundle.h"
#include "core/io/increment.h"

namespace tpuest {

[[nodiscard]] int64_t WholeBytes(const Shape& table);
// Returns how many rows of this width are read and written at once: about 1 MiB.
[[nodiscard]] int64_t RowsAtOnce(int64_t width);

[[nodiscard]] std::vector<NamedTensor> TableEntries(const VariableStore& store,
                                                    int64_t whole_table_bytes);

// Returns the entries of an increment based on `base`, for tables whose changes are noted and for
// their row counts.
[[nodiscard]] std::vector<NamedTensor> ChangedEntries(const VariableStore& store,
                                                      const IncrementBase& base,
                                                      int64_t whole_table_bytes);
// Whether a checkpoint has these tables in the form of TableEntries, and row counts if there are
// any: only then can an increment use it as its base.
[[nodiscard]] bool MayStandOn(const BundleReader& base, const VariableStore& store,
                              int64_t whole_table_bytes);

// Returns the names of entries of a graph's tables that are large enough to stay on disk; the same
// for every run of the graph, however it keeps its tables.
[[nodiscard]] std::vector<std::string> LargeEntries(const Graph& graph, int64_t whole_table_bytes);

}  // namespace tpuest
