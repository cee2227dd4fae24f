#include "core/kernels/batch_product.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tensor/elements.h"

namespace tpuest {
namespace {

// Takes b as [inner, columns], so that the innermost loop reads contiguous memory.
template <class T, class A>
void Untransposed(const GemmShape& s, const T* b, A* to) {
  for (int64_t k = 0; k < s.inner; ++k) {
    for (int64_t j = 0; j < s.columns; ++j) {
      to[k * s.columns + j] =
          ConvertTo<A>(s.transpose_b ? b[j * s.inner + k] : b[k * s.columns + j]);
    }
  }
}

template <class A>
void AddScaled(A factor, const A* x, A* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

template <class T, class A>
void MultiplyAll(const GemmShape& s, int64_t count, const T* a, const T* b, T* c, A* scratch) {
  A* const row = scratch + s.inner * s.columns;
  for (int64_t pair = 0; pair < count; ++pair) {
    Untransposed(s, b, scratch);
    for (int64_t i = 0; i < s.rows; ++i) {
      std::fill_n(row, s.columns, A(0));
      for (int64_t k = 0; k < s.inner; ++k) {
        AddScaled(ConvertTo<A>(s.transpose_a ? a[k * s.rows + i] : a[i * s.inner + k]),
                  scratch + k * s.columns, row, s.columns);
      }
      for (int64_t j = 0; j < s.columns; ++j) c[i * s.columns + j] = ConvertTo<T>(row[j]);
    }
    a += s.rows * s.inner;
    b += s.inner * s.columns;
    c += s.rows * s.columns;
  }
}

}  // namespace

BatchProduct::BatchProduct(const GemmShape& shape, DType dtype) : shape_(shape), dtype_(dtype) {
  Check(dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kBfloat16,
        "no products of {}", NameOf(dtype));
}

size_t BatchProduct::scratch_bytes() const {
  const auto numbers = static_cast<size_t>((shape_.inner + 1) * shape_.columns);
  return numbers * (dtype_ == DType::kDouble ? sizeof(double) : sizeof(float));
}

void BatchProduct::Run(int64_t count, const void* a, const void* b, void* c, void* scratch) const {
  const auto run = [&]<class T, class A>(T /*of*/, A /*in*/) {
    MultiplyAll(shape_, count, static_cast<const T*>(a), static_cast<const T*>(b),
                static_cast<T*>(c), static_cast<A*>(scratch));
  };
  if (dtype_ == DType::kDouble) return run(double{}, double{});
  if (dtype_ == DType::kBfloat16) return run(bfloat16{}, float{});
  run(float{}, float{});
}

}  // namespace tpuest
