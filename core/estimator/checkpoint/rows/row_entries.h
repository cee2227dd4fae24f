#pragma once
// What a checkpoint has of the tables that a run keeps by rows (row_tables.h).

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "core/io/bundle.h"
#include "core/io/increment.h"

namespace tpuest {

[[nodiscard]] int64_t WholeBytes(const Shape& table);
// The rows of so many numbers each that are read and written at once: about a MiB.
[[nodiscard]] int64_t RowsAtOnce(int64_t width);

[[nodiscard]] std::vector<NamedTensor> TableEntries(const VariableStore& store,
                                                    int64_t whole_table_bytes);

// What an increment that stands on `base` has of the tables whose changes are noted, and of the
// counts of their rows.
[[nodiscard]] std::vector<NamedTensor> ChangedEntries(const VariableStore& store,
                                                      const IncrementBase& base,
                                                      int64_t whole_table_bytes);
// Whether a checkpoint has these tables in the form that TableEntries gives them, and counts where
// there are some.
[[nodiscard]] bool MayStandOn(const BundleReader& base, const VariableStore& store,
                              int64_t whole_table_bytes);

// The names of the entries of a graph's tables that are better left on the disk; in every run of
// the graph the same, however it keeps its tables.
[[nodiscard]] std::vector<std::string> LargeEntries(const Graph& graph, int64_t whole_table_bytes);

}  // namespace tpuest
