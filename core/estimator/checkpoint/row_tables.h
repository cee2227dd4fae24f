#pragma once
// Tables that a run keeps by rows (core/backend/row_table.h): from a graph, from a checkpoint and
// into one.
//
// In a checkpoint a table of rows [V, D] is what its variables are, whole, with rows that nobody
// wrote as they are drawn. One of more than tpuest.embeddings.whole_table_bytes is the rows that
// were written:
//
//   <table>-keys       int64 [n]       their numbers, the smallest first
//   <table>-values     float32 [n, D]  and of each slot: <table>/Adagrad-values
//
// So the bytes follow from the values and the sizes alone, never from how the rows are kept.
//
// Of a table whose rows are counted (core/backend/row_sights.h) there is beside it
//
//   tpuest/seen/<table>  int64 [n, 4]  the rows that were seen, the smallest first: number, how
//                                      many steps saw it, the last of them, 1 if it is trained

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/row_sights.h"
#include "core/estimator/checkpoint/saved_state.h"
#include "core/estimator/options/options.h"
#include "core/graph/graph.h"

namespace tpuest {

// The keeping that a job's options ask for, with a budget of its own.
[[nodiscard]] RowKeeping KeepingOf(const EmbeddingsOptions& options);

// A table and its slots, in the graph's order: the weights first.
using TableVariables = std::vector<const Variable*>;
[[nodiscard]] std::vector<TableVariables> TablesOf(const Graph& graph);

// Puts the graph's tables into the store, no row written, and returns the names of their variables;
// none where the store does not keep rows. `seed`: of what is drawn. Error kUsage for a large table
// whose initial values are no function of the row.
std::set<std::string> MakeTables(const Graph& graph, uint64_t seed, VariableStore& store);

// The same with a checkpoint's rows; `names` as RestoreVariables takes them. Variables that the
// checkpoint does not have, or in another shape, are left out of the result, and their tables out
// of the store.
std::set<std::string> RestoreTables(const SavedState& saved, const Graph& graph,
                                    const std::map<std::string, std::string>& names,
                                    VariableStore& store);

// Has the store count the rows of the graph's tables, on from what `saved` knows of them. `seed`:
// of what is drawn. Error kUsage where rows may be forgotten and an initial value is no function of
// the row, kCheckpoint for counts that are damaged.
void CountRows(const Graph& graph, const RowRules& rules, uint64_t seed, const SavedState& saved,
               VariableStore& store);
// The entries of what was counted.
[[nodiscard]] std::vector<NamedTensor> SeenEntries(const VariableStore& store);
// The variables of a store that are kept whole, and these entries.
[[nodiscard]] std::map<std::string, Tensor> WithSeen(const VariableStore& store);
[[nodiscard]] bool IsSeenEntry(std::string_view name);

// What a checkpoint has of the tables of a store.
[[nodiscard]] std::vector<NamedTensor> TableEntries(const VariableStore& store,
                                                    int64_t whole_table_bytes);

// The names of the entries of a graph's tables that are better left on the disk; in every run of
// the graph the same, however it keeps its tables.
[[nodiscard]] std::vector<std::string> LargeEntries(const Graph& graph, int64_t whole_table_bytes);

// The tables of which a checkpoint has the written rows alone, and some; the name of their values.
[[nodiscard]] std::vector<std::string> TablesSavedByRows(const SavedState& saved);
[[nodiscard]] std::string RowValuesName(const std::string& variable);

// One of the variables of a table of which a checkpoint has the written rows alone.
struct SavedRows {
  std::string table;
  std::string variable;  // the table or a slot of it
};
[[nodiscard]] bool HasRows(const BundleReader& reader, const SavedRows& saved);
// Their numbers. Error kCheckpoint where they are damaged.
[[nodiscard]] std::vector<int64_t> RowNumbers(const BundleReader& reader, const SavedRows& saved);
// Writes them to `rows`, each to where `places` says, and none to -1. Error kCheckpoint where they
// do not fit.
void WriteRows(const BundleReader& reader, const SavedRows& saved, const RowColumn& rows,
               const std::vector<int64_t>& places);

// A variable of a SavedState, wherever it is: whole. An invalid Tensor where it has none.
[[nodiscard]] Tensor WholeValue(const SavedState& saved, const std::string& name);

}  // namespace tpuest
