#include "core/backend/backend.h"

#include <cstring>

namespace tpuest {

Tensor& VariableStore::Get(const std::string& name) {
  const auto found = tensors_.find(name);
  Check(found != tensors_.end(), "there is no variable {}", name);
  return found->second;
}

void VariableStore::Set(const std::string& name, const Tensor& value) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end() && found->second.dtype() == value.dtype() &&
      found->second.shape() == value.shape() && value.dtype() != DType::kString) {
    std::memcpy(found->second.raw(), value.raw(), value.bytes());
    return;
  }
  tensors_[name] = value.Clone();
}

}  // namespace tpuest
