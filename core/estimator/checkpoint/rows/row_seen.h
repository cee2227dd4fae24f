#pragma once
// The row counts of a run (core/backend/rows/row_counts.h) in a checkpoint:
//
//   tpuest/seen/<table>  int64 [n, 4]  one line per used row, sorted by row: row number, number of
//                                      steps that used it, the last of these steps, 1 if it is
//                                      trained

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_counts.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/io/bundle.h"

namespace tpuest {

// Returns the entries of the row counts; they read the store when they are written.
[[nodiscard]] std::vector<NamedTensor> SeenEntries(const VariableStore& store);
// Returns the entries of an increment, which contain only changes. SeenNames returns the names of
// such entries.
[[nodiscard]] std::vector<NamedTensor> ChangedSeenEntries(const VariableStore& store);
[[nodiscard]] std::vector<std::string> SeenNames(const VariableStore& store);
[[nodiscard]] std::string SeenName(const std::string& table);
// Returns the variables that a store keeps whole, and these entries of tables that processes do not
// share.
[[nodiscard]] std::map<std::string, Tensor> WithSeen(const VariableStore& store);
[[nodiscard]] bool IsSeenEntry(std::string_view name);
// Returns the row counts in a checkpoint for a table with `rows` rows; empty if it has no entry for
// it. Throws Error kCheckpoint for damaged counts.
[[nodiscard]] std::vector<RowCount> SavedRowCounts(const SavedState& saved,
                                                   const std::string& table, int64_t rows);

}  // namespace tpuest
