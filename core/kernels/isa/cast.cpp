#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cstring>

#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

template <class From, class To>
void CastLoop(const void* x_raw, void* y_raw, size_t n) {
  const From* const x = static_cast<const From*>(x_raw);
  To* const y = static_cast<To*>(y_raw);
  for (size_t i = 0; i < n; ++i) y[i] = ConvertTo<To>(x[i]);
}

#ifdef __AVX512F__

// The processor's instruction treats subnormal numbers as zero, so vectors with subnormal numbers
// are rounded without it. The bits are those of all other sets.
[[gnu::target("avx512bf16,avx512vl")]] void RoundByInstruction(const void* x_raw, void* y_raw,
                                                               size_t n) {
  constexpr size_t kLanes = 16;
  constexpr int kSubnormal = 0x20;  // flag of VFPCLASSPS
  const auto* const x = static_cast<const float*>(x_raw);
  auto* const y = static_cast<bfloat16*>(y_raw);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m512 values = _mm512_loadu_ps(x + i);
    if (_mm512_fpclass_ps_mask(values, kSubnormal) != 0) {
      CastLoop<float, bfloat16>(x + i, y + i, kLanes);
    } else {
      const __m256bh rounded = _mm512_cvtneps_pbh(values);
      std::memcpy(y + i, &rounded, sizeof rounded);
    }
  }
  CastLoop<float, bfloat16>(x + i, y + i, n - i);
}

#endif

}  // namespace

CastKernel FindCast(DType from, DType to) {
#ifdef __AVX512F__
  const bool rounds = from == DType::kFloat && to == DType::kBfloat16;
  if (rounds && __builtin_cpu_supports("avx512bf16") != 0) return RoundByInstruction;
#endif
  CastKernel kernel = nullptr;
  DispatchDType(from, [&]<class From>() {
    DispatchDType(to, [&]<class To>() { kernel = CastLoop<From, To>; });
  });
  return kernel;
}

}  // namespace tpuest::TPUEST_ISA
