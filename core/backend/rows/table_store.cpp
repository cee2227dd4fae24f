#include "core/backend/rows/table_store.h"

#include <utility>

#include "core/backend/rows/row_counts.h"
#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_table.h"

namespace tpuest {

void TableStore::KeepRows(const RowKeeping& options) {
  keeping_ = std::make_shared<const RowKeeping>(options);
}

void TableStore::Set(std::shared_ptr<RowTable> table) {
  const std::shared_ptr<RowTable> kept = std::move(table);
  for (size_t i = 0; i < kept->variables().size(); ++i) {
    columns_[kept->variables()[i].name] = {kept, static_cast<int>(i)};
  }
}

void TableStore::Drop(const std::string& name) {
  const auto found = columns_.find(name);
  if (found == columns_.end() || found->second.table == nullptr) return;
  const std::shared_ptr<RowTable> table = found->second.table;
  for (auto& [key, column] : columns_) {
    if (column.table == table) column.table.reset();
  }
}

const RowColumn* TableStore::Find(const std::string& name) const {
  const auto found = columns_.find(name);
  const bool is_there = found != columns_.end() && found->second.table != nullptr;
  return is_there ? &found->second : nullptr;
}

std::vector<std::shared_ptr<RowTable>> TableStore::all() const {
  std::vector<std::shared_ptr<RowTable>> tables;
  for (const auto& [name, column] : columns_) {
    if (column.column == 0 && column.table != nullptr) tables.push_back(column.table);
  }
  return tables;
}

void TableStore::Count(CountedTable table) {
  const std::string weights = table.row_counts->table();
  for (const RowVariable& variable : table.variables) {
    RowWatch& watch = watches_[variable.name];
    watch.row_counts = table.row_counts;
    watch.counts = variable.name == weights;
  }
  counted_[weights] = std::move(table);
}

void TableStore::NoteChanges(NotedTable table) {
  const std::string weights = table.variables.front();
  RowWatch& watch = watches_[weights];
  watch.changed = table.changed;
  watch.counts = true;
  noted_[weights] = std::move(table);
}

const RowWatch* TableStore::FindWatch(const std::string& name) const {
  const auto found = watches_.find(name);
  return found == watches_.end() ? nullptr : &found->second;
}

void TableStore::DropStep() {
  for (const auto& [weights, table] : counted_) table.row_counts->DropStep();
}

void TableStore::EndStep(
    int64_t step,
    const std::function<void(const RowVariable&, int64_t width, int64_t row)>& forget) {
  for (const auto& [weights, table] : counted_) {
    RowSet* const changed = watches_.at(weights).changed.get();
    for (const int64_t row : table.row_counts->EndStep(step)) {
      if (changed != nullptr) changed->Insert(row);
      for (const RowVariable& variable : table.variables) {
        if (const RowColumn* const rows = Find(variable.name)) {
          rows->table->Drop(row);
        } else {
          forget(variable, table.width, row);
        }
      }
    }
  }
}

}  // namespace tpuest
