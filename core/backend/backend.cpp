#include "core/backend/backend.h"

#include <cstring>
#include <utility>

#include "core/backend/rows/row_table.h"

namespace tpuest {

const Tensor& VariableStore::Get(const std::string& name) const {
  const auto found = tensors_.find(name);
  Check(found != tensors_.end(), "there is no variable {}", name);
  CopyToHost(name);
  return found->second;
}

// Writes into the existing tensor, because programs hold its address. The new version marks a
// device's copy as old.
void VariableStore::Set(const std::string& name, const Tensor& value) {
  if (const RowColumn* const rows = tables_.Find(name)) {
    Check(value.dtype() == DType::kFloat &&
              value.elements() == rows->table->rows() * rows->table->width(),
          "{} is {}, which differs from its table", name, value.shape().Text());
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

// Const: the variable's value is the same on either side. The tensor keeps its address.
void VariableStore::CopyToHost(const std::string& name) const {
  if (!away_.contains(name)) return;
  if (tell_others_ && holder_->OthersHavePartOf(name)) tell_others_(name);
  const Tensor value = holder_->Value(name);
  Tensor& here = tensors_.at(name);
  Check(value.bytes() == here.bytes(), "{} was copied to the host as {}", name,
        value.shape().Text());
  std::memcpy(here.raw(), value.raw(), value.bytes());
  away_.erase(name);
}

// A program does not say which variables it wrote, so every copy on a device counts as old.
void VariableStore::NoteWrites() {
  for (auto& [name, version] : versions_) ++version;
}

void VariableStore::SetTable(std::shared_ptr<RowTable> table) {
  for (const RowVariable& variable : table->variables()) tensors_.erase(variable.name);
  tables_.Set(std::move(table));
}

void VariableStore::EndStep(bool applied) {
  if (tables_.counted().empty()) return;
  if (!applied) return tables_.DropStep();
  const auto step = static_cast<int64_t>(Get("global_step").AsDouble(0));
  tables_.EndStep(step, [this](const RowVariable& variable, int64_t width, int64_t row) {
    float* const values = tensors_.at(variable.name).data<float>() + row * width;
    variable.DrawRows(row, 1, width, values);
  });
}

void VariableStore::LeaveWith(std::shared_ptr<VariableHolder> holder,
                              const std::vector<std::string>& names) {
  holder_ = std::move(holder);
  away_.insert(names.begin(), names.end());
}

}  // namespace tpuest
