#pragma once
// The tables of a run: which variables are kept by rows, and what is tracked of each table.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/backend/rows/row_keeping.h"

namespace tpuest {

// Owns what a VariableStore knows of its tables. Tables are named by their weights. One thread at a
// time.
class TableStore {
 public:
  // Keeps variables by rows from now on, if their graph allows it (Variable::by_rows).
  void KeepRows(const RowKeeping& options);
  // nullptr if no variable is kept by rows.
  [[nodiscard]] const RowKeeping* keeping() const { return keeping_.get(); }

  // Adds a table, which other stores may share; replaces a table of the same variables. For
  // VariableStore::SetTable, which drops their tensors.
  void Set(std::shared_ptr<RowTable> table);
  // Removes the table of a variable and its slots, until another is set.
  void Drop(const std::string& name);
  // The table of a variable; nullptr if it is not kept by rows. The pointer stays valid when
  // another table is set for the variable.
  [[nodiscard]] const RowColumn* Find(const std::string& name) const;
  // All tables that are kept by rows, in order of their names.
  [[nodiscard]] std::vector<std::shared_ptr<RowTable>> all() const;

  // Counts the rows of a table from now on (row_counts.h); replaces its earlier counts.
  void Count(CountedTable table);
  [[nodiscard]] const std::map<std::string, CountedTable>& counted() const { return counted_; }

  // Tracks the rows of a table that change from now on, in addition to those already tracked.
  void NoteChanges(NotedTable table);
  [[nodiscard]] const std::map<std::string, NotedTable>& noted() const { return noted_; }

  // What is tracked of a variable that is updated by rows; nullptr if nothing is. The pointer stays
  // valid when the table is watched again.
  [[nodiscard]] const RowWatch* FindWatch(const std::string& name) const;

  // Ends a step that was not applied: counts nothing.
  void DropStep();
  // Ends a step that was applied: counts the rows that it used, and calls `forget` for each row
  // that is forgotten of each variable that is not kept by rows.
  void EndStep(int64_t step,
               const std::function<void(const RowVariable&, int64_t width, int64_t row)>& forget);

 private:
  std::shared_ptr<const RowKeeping> keeping_;
  std::map<std::string, RowColumn> columns_;
  std::map<std::string, CountedTable> counted_;
  std::map<std::string, NotedTable> noted_;
  std::map<std::string, RowWatch> watches_;
};

}  // namespace tpuest
