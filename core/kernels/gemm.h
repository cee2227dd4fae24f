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

// c = a b [+ bias], then max(c, 0) if `relu`, by oneDNN; a, b and bias float or bfloat16. `result`
// is that dtype or float. Made once, run by `threads` threads, each under its own number.
class Gemm {
 public:
  Gemm(const GemmShape& shape, DType dtype, DType result, bool bias, bool relu, int threads);
  ~Gemm();
  [[nodiscard]] size_t scratch_bytes() const;
  // bias [columns] or nullptr.
  void Run(int thread, const void* a, const void* b, const void* bias, void* c, void* scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Computes what Gemm does as its formula says, in float or double; products are added in the order
// of the inner index. bias may be nullptr.
template <class T>
void PlainGemm(const GemmShape& shape, const T* a, const T* b, const T* bias, bool relu, T* c);

}  // namespace tpuest
