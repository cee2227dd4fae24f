#pragma once
// Batch normalisation over x [rows, channels] together with what stands beside it in a network: an
// activation, an addition. Each is one pass over the data. x, side, y, dy, dx are bfloat16 or
// float; statistics, scale, offset and sums are float but for the moments.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

enum class NormActivation { kNone, kRelu, kRelu6 };

// What a normalisation reads, forward and backward.
struct NormInputs {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* offset = nullptr;
  const void* mean = nullptr;
  const void* variance = nullptr;
  double epsilon = 0;
  int64_t rows = 0;
  int64_t channels = 0;
};

struct FusedBatchNormKernels {
  // sum[c] = sum of x[., c], square_sum[c] = sum of x[., c]^2, in double: so exact that the
  // variance may be had from them where the mean is large beside it. Deviations from the first row
  // are what is added up.
  void (*moments)(const void* x, double* sum, double* square_sum, int64_t rows, int64_t channels);
  // y = activation(normalised x [+ side]), rounded where the parts alone would round.
  void (*apply)(const NormInputs& in, const void* side, void* y);
  // As grad_sums and grad_apply of batch_norm.h, of dy where the activation of the normalised x
  // lets it pass, else of 0. Without a side: what the activation saw is computed again.
  void (*grad_sums)(const NormInputs& in, const void* dy, void* dy_sum, void* dot);
  void (*grad_apply)(const NormInputs& in, const void* dy, const void* dy_sum, const void* dot,
                     int64_t count, void* dx);
};

// Check fails for a dtype other than bfloat16 and float.
[[nodiscard]] FusedBatchNormKernels FindFusedBatchNorm(DType dtype, NormActivation activation);

}  // namespace tpuest
