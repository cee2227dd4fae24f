#include "data/examples/tensor_pool.h"

namespace tpuest {

Tensor TensorPool::Get(DType dtype, const Shape& shape) {
  {
    const std::lock_guard lock(mutex_);
    for (const Tensor& tensor : tensors_) {
      if (tensor.dtype() == dtype && tensor.shape() == shape && tensor.Unshared()) return tensor;
    }
  }
  // Made outside of the lock: a new tensor is zeroed.
  Tensor tensor(dtype, shape);
  const std::lock_guard lock(mutex_);
  if (tensors_.size() < limit_) tensors_.push_back(tensor);
  return tensor;
}

}  // namespace tpuest
