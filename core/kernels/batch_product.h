#pragma once
// Products of many pairs of small matrices: bfloat16 (computed in float), float and double.

#include <cstdint>

#include "core/kernels/gemm.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// c[i] = a[i] b[i] for `count` pairs of row-major matrices, each of `shape`. Products are added in
// the order of the inner index, so the bits of a result do not depend on its position in the batch.
class BatchProduct {
 public:
  BatchProduct(const GemmShape& shape, DType dtype);
  // Bytes of scratch memory that one call needs.
  [[nodiscard]] size_t scratch_bytes() const;
  void Run(int64_t count, const void* a, const void* b, void* c, void* scratch) const;

 private:
  GemmShape shape_;
  DType dtype_;
};

}  // namespace tpuest
