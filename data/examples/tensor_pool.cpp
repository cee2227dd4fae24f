#include "data/examples/tensor_pool.h"

#include <algorithm>

namespace tpuest::data {
namespace {

// Tensors are freed roughly in the order in which they were returned: checking more than this many
// rarely finds one, and would take longer the more columns a batch has.
constexpr size_t kMostLooks = 64;

}  // namespace

Tensor TensorPool::Get(DType dtype, const Shape& shape) {
  {
    const std::lock_guard lock(mutex_);
    const size_t most = std::min(tensors_.size(), kMostLooks);
    for (size_t look = 0; look < most; ++look) {
      next_ = next_ < tensors_.size() ? next_ : 0;
      const Tensor& tensor = tensors_[next_++];
      if (tensor.dtype() == dtype && tensor.shape() == shape && tensor.Unshared()) return tensor;
    }
  }
  // Allocates outside the lock, because a new tensor is zeroed.
  Tensor tensor(dtype, shape);
  const std::lock_guard lock(mutex_);
  if (tensors_.size() < limit_) tensors_.push_back(tensor);
  return tensor;
}

}  // namespace tpuest::data
