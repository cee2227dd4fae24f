#pragma once
// Tensors that are used again once nobody else holds them: a batch then costs no page faults.

#include <mutex>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest::data {

// Hands out tensors and keeps a share of each. Thread-safe.
class TensorPool {
 public:
  // Keeps at most `limit` tensors.
  explicit TensorPool(size_t limit) : limit_(limit) {}
  // A tensor with any contents: one that only the pool still holds, or a new one.
  [[nodiscard]] Tensor Get(DType dtype, const Shape& shape);

 private:
  std::mutex mutex_;
  size_t limit_;
  std::vector<Tensor> tensors_;
  size_t next_ = 0;  // the tensor to look at first: the one that was handed out longest ago
};

}  // namespace tpuest::data
