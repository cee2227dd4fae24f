#include "core/backend/backend.h"

#include <cstring>
#include <utility>

#include "core/backend/rows/row_counts.h"
#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_table.h"

namespace tpuest {

const Tensor& VariableStore::Get(const std::string& name) const {
  const auto found = tensors_.find(name);
  Check(found != tensors_.end(), "there is no variable {}", name);
  CopyToHost(name);
  return found->second;
}

// The bytes go into the tensor that is there: programs hold its address. The version tells a device
// that its copy is old.
void VariableStore::Set(const std::string& name, const Tensor& value) {
  if (const RowColumn* const rows = FindRows(name)) {
    Check(value.dtype() == DType::kFloat &&
              value.elements() == rows->table->rows() * rows->table->width(),
          "{} is {}, its table is not", name, value.shape().Text());
    return rows->table->SetRange(rows->column, 0, rows->table->rows(), value.data<float>());
  }
  away_.erase(name);
  ++versions_[name];
  const auto found = tensors_.find(name);
  if (found != tensors_.end() && found->second.dtype() == value.dtype() &&
      found->second.shape() == value.shape() && value.dtype() != DType::kString) {
    std::memcpy(found->second.raw(), value.raw(), value.bytes());
    return;
  }
  tensors_[name] = value.Clone();
}

const std::map<std::string, Tensor>& VariableStore::tensors() const {
  CopyToHost();
  return tensors_;
}

void VariableStore::CopyToHost() const {
  while (!away_.empty()) CopyToHost(std::string(*away_.begin()));
}

// The function is const: what a variable is does not change by where it stands. The tensor keeps
// its address.
void VariableStore::CopyToHost(const std::string& name) const {
  if (!away_.contains(name)) return;
  if (tell_others_ && holder_->OthersHavePartOf(name)) tell_others_(name);
  const Tensor value = holder_->Value(name);
  Tensor& here = tensors_.at(name);
  Check(value.bytes() == here.bytes(), "{} came home as {}", name, value.shape().Text());
  std::memcpy(here.raw(), value.raw(), value.bytes());
  away_.erase(name);
}

// A program does not say which variables it wrote, so every copy on a device counts as old.
void VariableStore::NoteWrites() {
  for (auto& [name, version] : versions_) ++version;
}

void VariableStore::KeepRows(const RowKeeping& options) {
  row_keeping_ = std::make_shared<const RowKeeping>(options);
}

void VariableStore::SetTable(std::shared_ptr<RowTable> table) {
  const std::shared_ptr<RowTable> kept = std::move(table);
  for (size_t i = 0; i < kept->variables().size(); ++i) {
    const std::string& name = kept->variables()[i].name;
    tensors_.erase(name);
    columns_[name] = {kept, static_cast<int>(i)};
  }
}

void VariableStore::DropTable(const std::string& name) {
  const auto found = columns_.find(name);
  if (found == columns_.end() || found->second.table == nullptr) return;
  const std::shared_ptr<RowTable> table = found->second.table;
  for (auto& [key, column] : columns_) {
    if (column.table == table) column.table.reset();
  }
}

const RowColumn* VariableStore::FindRows(const std::string& name) const {
  const auto found = columns_.find(name);
  const bool is_there = found != columns_.end() && found->second.table != nullptr;
  return is_there ? &found->second : nullptr;
}

std::vector<std::shared_ptr<RowTable>> VariableStore::tables() const {
  std::vector<std::shared_ptr<RowTable>> tables;
  for (const auto& [name, column] : columns_) {
    if (column.column == 0 && column.table != nullptr) tables.push_back(column.table);
  }
  return tables;
}

void VariableStore::CountRows(CountedTable table) {
  const std::string weights = table.row_counts->table();
  for (const RowVariable& variable : table.variables) {
    RowWatch& watch = watches_[variable.name];
    watch.row_counts = table.row_counts;
    watch.counts = variable.name == weights;
  }
  counted_[weights] = std::move(table);
}

void VariableStore::NoteChanges(NotedTable table) {
  const std::string weights = table.variables.front();
  RowWatch& watch = watches_[weights];
  watch.changed = table.changed;
  watch.counts = true;
  noted_[weights] = std::move(table);
}

const RowWatch* VariableStore::FindWatch(const std::string& name) const {
  const auto found = watches_.find(name);
  return found == watches_.end() ? nullptr : &found->second;
}

void VariableStore::EndStep(bool applied) {
  for (const auto& [weights, table] : counted_) {
    if (!applied) {
      table.row_counts->DropStep();
      continue;
    }
    const auto step = static_cast<int64_t>(Get("global_step").AsDouble(0));
    RowSet* const changed = watches_.at(weights).changed.get();
    for (const int64_t row : table.row_counts->EndStep(step)) {
      if (changed != nullptr) changed->Insert(row);
      for (const RowVariable& variable : table.variables) ForgetRow(variable, table.width, row);
    }
  }
}

void VariableStore::ForgetRow(const RowVariable& variable, int64_t width, int64_t row) {
  if (const RowColumn* const rows = FindRows(variable.name)) return rows->table->Drop(row);
  float* const values = tensors_.at(variable.name).data<float>() + row * width;
  variable.DrawRows(row, 1, width, values);
}

void VariableStore::LeaveWith(std::shared_ptr<VariableHolder> holder,
                              const std::vector<std::string>& names) {
  holder_ = std::move(holder);
  away_.insert(names.begin(), names.end());
}

}  // namespace tpuest
