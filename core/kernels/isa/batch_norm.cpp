#include <algorithm>
#include <cmath>

#include "core/kernels/isa/channel_sums.h"
#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

template <class A>
A InverseDeviation(A variance, double epsilon) {
  return A(1) / std::sqrt(variance + static_cast<A>(epsilon));
}

// Channels whose factors are computed together, before a pass over the rows.
constexpr int64_t kChannelBlock = 256;

// Calls fn(first channel, channels) for runs of at most kChannelBlock channels.
template <class Fn>
void ForEachRun(int64_t channels, Fn&& fn) {
  for (int64_t first = 0; first < channels; first += kChannelBlock) {
    fn(first, std::min(kChannelBlock, channels - first));
  }
}

template <class T, class A>
void Sum(const void* x_raw, void* sum, int64_t rows, int64_t channels) {
  const T* const x = static_cast<const T*>(x_raw);
  ChannelSums<1, A>(
      rows, channels, [&](int64_t i, int64_t /*channel*/, A* out) { out[0] = ConvertTo<A>(x[i]); },
      [&](int /*k*/, int64_t channel, A total) { static_cast<A*>(sum)[channel] = total; });
}

template <class T, class A>
void CenteredSquareSum(const void* x_raw, const void* mean_raw, void* sum, int64_t rows,
                       int64_t channels) {
  const T* const x = static_cast<const T*>(x_raw);
  const A* const mean = static_cast<const A*>(mean_raw);
  ChannelSums<1, A>(
      rows, channels,
      [&](int64_t i, int64_t channel, A* out) {
        const A centered = ConvertTo<A>(x[i]) - mean[channel];
        out[0] = centered * centered;
      },
      [&](int /*k*/, int64_t channel, A total) { static_cast<A*>(sum)[channel] = total; });
}

template <class T, class A>
void Apply(const void* x_raw, const void* scale, const void* offset, const void* mean_raw,
           const void* variance, double epsilon, void* y_raw, int64_t rows, int64_t channels) {
  const T* const x = static_cast<const T*>(x_raw);
  T* const y = static_cast<T*>(y_raw);
  const A* const mean = static_cast<const A*>(mean_raw);
  ForEachRun(channels, [&](int64_t first, int64_t n) {
    A factor[kChannelBlock];
    for (int64_t c = 0; c < n; ++c) {
      factor[c] = static_cast<const A*>(scale)[first + c] *
                  InverseDeviation(static_cast<const A*>(variance)[first + c], epsilon);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + first;
      for (int64_t c = 0; c < n; ++c) {
        y[at + c] = ConvertTo<T>((ConvertTo<A>(x[at + c]) - mean[first + c]) * factor[c] +
                                 static_cast<const A*>(offset)[first + c]);
      }
    }
  });
}

template <class T, class A>
void GradSums(const void* dy_raw, const void* x_raw, const void* mean_raw, const void* variance,
              double epsilon, void* dy_sum, void* dot, int64_t rows, int64_t channels) {
  const T* const dy = static_cast<const T*>(dy_raw);
  const T* const x = static_cast<const T*>(x_raw);
  const A* const mean = static_cast<const A*>(mean_raw);
  ChannelSums<2, A>(
      rows, channels,
      [&](int64_t i, int64_t channel, A* out) {
        out[0] = ConvertTo<A>(dy[i]);
        out[1] = out[0] * (ConvertTo<A>(x[i]) - mean[channel]);
      },
      [&](int k, int64_t channel, A total) {
        if (k == 0) {
          static_cast<A*>(dy_sum)[channel] = total;
        } else {
          static_cast<A*>(dot)[channel] =
              total * InverseDeviation(static_cast<const A*>(variance)[channel], epsilon);
        }
      });
}

template <class T, class A>
void GradApply(const void* dy_raw, const void* x_raw, const void* scale, const void* mean_raw,
               const void* variance, const void* dy_sum, const void* dot, double epsilon,
               int64_t count, void* dx_raw, int64_t rows, int64_t channels) {
  const T* const dy = static_cast<const T*>(dy_raw);
  const T* const x = static_cast<const T*>(x_raw);
  T* const dx = static_cast<T*>(dx_raw);
  const A* const mean = static_cast<const A*>(mean_raw);
  const A share = count == 0 ? A(0) : A(1) / static_cast<A>(count);
  ForEachRun(channels, [&](int64_t first, int64_t n) {
    // dx = factor * (dy - level - (x - mean) * slope).
    A factor[kChannelBlock];
    A level[kChannelBlock];
    A slope[kChannelBlock];
    for (int64_t c = 0; c < n; ++c) {
      const A inverse = InverseDeviation(static_cast<const A*>(variance)[first + c], epsilon);
      factor[c] = static_cast<const A*>(scale)[first + c] * inverse;
      level[c] = static_cast<const A*>(dy_sum)[first + c] * share;
      slope[c] = static_cast<const A*>(dot)[first + c] * share * inverse;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + first;
      for (int64_t c = 0; c < n; ++c) {
        const A centered = ConvertTo<A>(x[at + c]) - mean[first + c];
        dx[at + c] =
            ConvertTo<T>(factor[c] * (ConvertTo<A>(dy[at + c]) - level[c] - centered * slope[c]));
      }
    }
  });
}

template <class T, class A>
constexpr BatchNormKernels kBatchNormKernels = {Sum<T, A>, CenteredSquareSum<T, A>, Apply<T, A>,
                                                GradSums<T, A>, GradApply<T, A>};

}  // namespace

BatchNormKernels FindBatchNorm(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return kBatchNormKernels<bfloat16, float>;
    case DType::kFloat:
      return kBatchNormKernels<float, float>;
    case DType::kDouble:
      return kBatchNormKernels<double, double>;
    default:
      return {};
  }
}

}  // namespace tpuest::TPUEST_ISA
