#pragma once
// Products of row-major matrices.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/tensor/dtype.h"

namespace tpuest {

struct GemmShape {
  int64_t rows = 0;  // of the result
  int64_t inner = 0;
  int64_t columns = 0;       // of the result
  bool transpose_a = false;  // a is stored as [inner, rows]
  bool transpose_b = false;  // b is stored as [columns, inner]
};

// c = a b [+ bias], then max(c, 0) if `relu`, by oneDNN. a, b and bias are float or bfloat16;
// `result` is the same dtype or float. An object is made once, and `threads` threads run it, each
// with its own number.
class Gemm {
 public:
  Gemm(const GemmShape& shape, DType dtype, DType result, bool bias, bool relu, int threads);
  ~Gemm();
  [[nodiscard]] size_t scratch_bytes() const;
  // bias is [columns] or nullptr.
  void Run(int thread, const void* a, const void* b, const void* bias, void* c, void* scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Computes the same as Gemm directly from the formula, in float or double; adds products in the
// order of the inner index. bias may be nullptr.
template <class T>
void PlainGemm(const GemmShape& shape, const T* a, const T* b, const T* bias, bool relu, T* c);

}  // namespace tpuest
