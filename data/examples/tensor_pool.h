#pragma once
// Tensors that are used again once nobody else holds them: a batch then costs no page faults.

#include <mutex>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// Thread-safe.
class TensorPool {
 public:
  // Keeps at most `limit` tensors.
  explicit TensorPool(size_t limit) : limit_(limit) {}
  // A tensor with any contents.
  [[nodiscard]] Tensor Get(DType dtype, const Shape& shape);

 private:
  std::mutex mutex_;
  size_t limit_;
  std::vector<Tensor> tensors_;
};

}  // namespace tpuest
