#pragma once
// Tables that a run keeps by rows (core/backend/rows/row_table.h): made from a graph, read from a
// checkpoint and written to one.
//
// A checkpoint holds the variables of a table [V, D] whole; rows that were never written have their
// initial values. A table larger than tpuest.embeddings.whole_table_bytes is saved as its
// materialized rows:
//
//   <table>-keys       int64 [n]       their row numbers in ascending order
//   <table>-values     float32 [n, D]  their values, and for each slot: <table>/Adagrad-values
//
// So the bytes depend only on values and sizes, not on how the run keeps the rows.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_counts.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/options/options.h"
#include "core/graph/graph.h"

namespace tpuest {

// Returns the RowKeeping that a job's options ask for, with its own budget.
[[nodiscard]] RowKeeping KeepingOf(const EmbeddingsOptions& options);

// A table and its slots, in the graph's order: the weights first.
using TableVariables = std::vector<const Variable*>;
[[nodiscard]] std::vector<TableVariables> TablesOf(const Graph& graph);

// Makes the graph's tables in the store without materialized rows, and returns the names of their
// variables; empty if the store does not keep rows. `seed` is that of the initial values. Throws
// Error kUsage for a large table whose initial values are not a function of the row.
std::set<std::string> MakeTables(const Graph& graph, uint64_t seed, VariableStore& store);

// Makes the tables whose weights `seeds` names; leaves all other tables unchanged.
void MakeTables(const Graph& graph, const std::map<std::string, uint64_t>& seeds,
                VariableStore& store);

// Makes the tables likewise, with a checkpoint's rows; `names` is as in RestoreVariables. Variables
// that the checkpoint lacks, or has in another shape, are missing from the result, and their tables
// from the store.
std::set<std::string> RestoreTables(const SavedState& saved, const Graph& graph,
                                    const std::map<std::string, std::string>& names,
                                    VariableStore& store);

// Makes the store count the rows of the graph's tables, starting from the counts in `saved`. `seed`
// is that of the initial values. Throws Error kUsage if rows may be evicted and an initial value is
// not a function of the row, kCheckpoint for damaged counts.
void CountRows(const Graph& graph, const RowRules& rules, uint64_t seed, const SavedState& saved,
               VariableStore& store);

// Makes the store note which rows of the graph's tables change, starting from the rows that changed
// between `saved` and its base (core/io/increment.h).
void NoteChanges(const Graph& graph, const SavedState& saved, VariableStore& store);

// Returns the tables of which a checkpoint has only the materialized rows, at least one.
[[nodiscard]] std::vector<std::string> TablesSavedByRows(const SavedState& saved);

// A variable of a table of which a checkpoint has only the materialized rows.
struct SavedRows {
  std::string table;
  std::string variable;  // the table or a slot of it
};
[[nodiscard]] bool HasRows(const BundleReader& reader, const SavedRows& saved);
// Returns the row numbers. Throws Error kCheckpoint if they are damaged.
[[nodiscard]] std::vector<int64_t> RowNumbers(const BundleReader& reader, const SavedRows& saved);
// Writes the rows to `rows`, each to its position in `places`; -1 skips a row. Throws Error
// kCheckpoint if they do not fit.
void WriteRows(const BundleReader& reader, const SavedRows& saved, const RowColumn& rows,
               const std::vector<int64_t>& places);

// Returns a variable of a SavedState as a whole, wherever it is; an invalid Tensor if there is
// none.
[[nodiscard]] Tensor WholeValue(const SavedState& saved, const std::string& name);

}  // namespace tpuest
