#pragma once
// Reuses tensors that no other object holds, so a batch causes no page faults.

#include <mutex>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest::data {

// Returns tensors and keeps a reference to each. Thread-safe.
class TensorPool {
 public:
  // Keeps at most `limit` tensors.
  explicit TensorPool(size_t limit) : limit_(limit) {}
  // A tensor with unspecified contents: one that only the pool still holds, or a new one.
  [[nodiscard]] Tensor Get(DType dtype, const Shape& shape);

 private:
  std::mutex mutex_;
  size_t limit_;
  std::vector<Tensor> tensors_;
  size_t next_ = 0;  // the tensor to try first: the one that was returned longest ago
};

}  // namespace tpuest::data
