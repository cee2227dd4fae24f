#include "core/backend/backend.h"

#include <cstring>
#include <utility>

namespace tpuest {

const Tensor& VariableStore::Get(const std::string& name) const {
  const auto found = tensors_.find(name);
  Check(found != tensors_.end(), "there is no variable {}", name);
  BringHome(name);
  return found->second;
}

// The bytes go into the tensor that is there: programs hold its address. The version tells a device
// that its copy is old.
void VariableStore::Set(const std::string& name, const Tensor& value) {
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
  BringHome();
  return tensors_;
}

void VariableStore::BringHome() const {
  while (!away_.empty()) BringHome(std::string(*away_.begin()));
}

// The function is const: what a variable is does not change by where it stands. The tensor keeps
// its address.
void VariableStore::BringHome(const std::string& name) const {
  if (!away_.contains(name)) return;
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

void VariableStore::LeaveWith(std::shared_ptr<VariableHolder> holder,
                              const std::vector<std::string>& names) {
  holder_ = std::move(holder);
  away_.insert(names.begin(), names.end());
}

}  // namespace tpuest
