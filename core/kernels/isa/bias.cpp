#include "core/kernels/isa/channel_sums.h"
#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

template <class T, class A>
void Add(const void* x_raw, const void* bias_raw, void* y_raw, int64_t rows, int64_t channels) {
  const T* const bias = static_cast<const T*>(bias_raw);
  for (int64_t r = 0; r < rows; ++r) {
    const T* const x = static_cast<const T*>(x_raw) + r * channels;
    T* const y = static_cast<T*>(y_raw) + r * channels;
    for (int64_t c = 0; c < channels; ++c) {
      y[c] = ConvertTo<T>(ConvertTo<A>(x[c]) + ConvertTo<A>(bias[c]));
    }
  }
}

template <class T, class A, class R>
void Grad(const void* dy_raw, void* dbias_raw, int64_t rows, int64_t channels) {
  const T* const dy = static_cast<const T*>(dy_raw);
  R* const dbias = static_cast<R*>(dbias_raw);
  ChannelSums<1, A>(
      rows, channels, [&](int64_t i, int64_t /*channel*/, A* out) { out[0] = ConvertTo<A>(dy[i]); },
      [&](int /*k*/, int64_t channel, A sum) { dbias[channel] = ConvertTo<R>(sum); });
}

}  // namespace

BiasKernel FindBias(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return Add<bfloat16, float>;
    case DType::kFloat:
      return Add<float, float>;
    case DType::kDouble:
      return Add<double, double>;
    default:
      return nullptr;
  }
}

BiasGradKernel FindBiasGrad(DType dtype, DType result) {
  switch (dtype) {
    case DType::kBfloat16:
      return result == DType::kFloat ? Grad<bfloat16, float, float>
                                     : Grad<bfloat16, float, bfloat16>;
    case DType::kFloat:
      return Grad<float, float, float>;
    case DType::kDouble:
      return Grad<double, double, double>;
    default:
      return nullptr;
  }
}

}  // namespace tpuest::TPUEST_ISA
