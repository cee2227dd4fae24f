#pragma once
// Tables that a run keeps by rows (core/backend/rows/row_table.h): from a graph, from a checkpoint
// and into one.
//
// In a checkpoint a table of rows [V, D] is what its variables are, whole, with rows that nobody
// wrote as they are drawn. One of more than tpuest.embeddings.whole_table_bytes is the rows that
// were written:
//
//   <table>-keys       int64 [n]       their numbers, the smallest first
//   <table>-values     float32 [n, D]  and of each slot: <table>/Adagrad-values
//
// So the bytes follow from the values and the sizes alone, never from how the rows are kept.

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

// The keeping that a job's options ask for, with a budget of its own.
[[nodiscard]] RowKeeping KeepingOf(const EmbeddingsOptions& options);

// A table and its slots, in the graph's order: the weights first.
using TableVariables = std::vector<const Variable*>;
[[nodiscard]] std::vector<TableVariables> TablesOf(const Graph& graph);

// Puts the graph's tables into the store, no row written, and returns the names of their variables;
// none where the store does not keep rows. `seed`: of what is drawn. Error kUsage for a large table
// whose initial values are no function of the row.
std::set<std::string> MakeTables(const Graph& graph, uint64_t seed, VariableStore& store);

// Makes the tables that `seeds` names, by their weights; others are left as they are.
void MakeTables(const Graph& graph, const std::map<std::string, uint64_t>& seeds,
                VariableStore& store);

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

// Has the store note which rows of the graph's tables change, on from those that changed between
// `saved` and what it stands on (core/io/increment.h).
void NoteChanges(const Graph& graph, const SavedState& saved, VariableStore& store);

// The tables of which a checkpoint has the written rows alone, and some.
[[nodiscard]] std::vector<std::string> TablesSavedByRows(const SavedState& saved);

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
