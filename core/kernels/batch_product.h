#pragma once
// Products of many small matrices, each of its own pair: bfloat16 (computed in float), float and
// double.

#include <cstdint>

#include "core/kernels/gemm.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// c[i] = a[i] b[i] for `count` pairs of row-major matrices, each of `shape`. Products are added in
// the order of the inner index, so a matrix has the same bits at any position in the batch.
class BatchProduct {
 public:
  BatchProduct(const GemmShape& shape, DType dtype);
  // Bytes that one call takes for itself.
  [[nodiscard]] size_t scratch_bytes() const;
  void Run(int64_t count, const void* a, const void* b, void* c, void* scratch) const;

 private:
  GemmShape shape_;
  DType dtype_;
};

}  // namespace tpuest
