#include "core/kernels/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

template <class From, class To>
void CastLoop(const void* x_raw, void* y_raw, size_t n) {
  const From* const x = static_cast<const From*>(x_raw);
  To* const y = static_cast<To*>(y_raw);
  for (size_t i = 0; i < n; ++i) y[i] = ConvertTo<To>(x[i]);
}

}  // namespace

CastKernel FindCast(DType from, DType to) {
  CastKernel kernel = nullptr;
  DispatchDType(from, [&]<class From>() {
    DispatchDType(to, [&]<class To>() { kernel = CastLoop<From, To>; });
  });
  return kernel;
}

}  // namespace tpuest::TPUEST_ISA
