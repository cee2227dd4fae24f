#pragma once
// What is known of the rows that a run counts (core/backend/rows/row_counts.h), in a checkpoint:
//
//   tpuest/seen/<table>  int64 [n, 4]  the rows that were seen, the smallest first: number, how
//                                      many steps saw it, the last of them, 1 if it is trained

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_counts.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/io/bundle.h"

namespace tpuest {

// The entries of what was counted, which read the store as they are written.
[[nodiscard]] std::vector<NamedTensor> SeenEntries(const VariableStore& store);
// Those of an increment, of what has changed; and the names of the entries that it gives so.
[[nodiscard]] std::vector<NamedTensor> ChangedSeenEntries(const VariableStore& store);
[[nodiscard]] std::vector<std::string> SeenNames(const VariableStore& store);
[[nodiscard]] std::string SeenName(const std::string& table);
// The variables of a store that are kept whole, and these entries of tables that no processes
// share.
[[nodiscard]] std::map<std::string, Tensor> WithSeen(const VariableStore& store);
[[nodiscard]] bool IsSeenEntry(std::string_view name);
// What a checkpoint knows of the rows of a table of `rows`; nothing where it has no entry of it.
// Error kCheckpoint for counts that are damaged.
[[nodiscard]] std::vector<RowCount> SavedRowCounts(const SavedState& saved,
                                                   const std::string& table, int64_t rows);

}  // namespace tpuest
