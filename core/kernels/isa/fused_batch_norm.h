#pragma once
// Batch normalisation over x [rows, channels] fused with a neighbouring activation or addition;
// each function is one pass over the data. x, side, y, dy, dx are bfloat16 or float; statistics,
// scale, offset and sums are float, except the moments.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

enum class NormActivation { kNone, kRelu, kRelu6 };

// The inputs of a normalisation, forward and backward.
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
  // sum[c] = sum of x[., c], square_sum[c] = sum of x[., c]^2, in double. Adds deviations from the
  // first row, so the variance is accurate even if the mean is much larger.
  void (*moments)(const void* x, double* sum, double* square_sum, int64_t rows, int64_t channels);
  // y = activation(normalised x [+ side]), rounded wherever the separate ops would round.
  void (*apply)(const NormInputs& in, const void* side, void* y);
  // As grad_sums and grad_apply of batch_norm.h, for dy where the activation of the normalised x
  // passes it on, otherwise for 0. Without `side`, computes the activation's argument again.
  void (*grad_sums)(const NormInputs& in, const void* dy, void* dy_sum, void* dot);
  void (*grad_apply)(const NormInputs& in, const void* dy, const void* dy_sum, const void* dot,
                     int64_t count, void* dx);
};

// Check fails for a dtype other than bfloat16 and float.
[[nodiscard]] FusedBatchNormKernels FindFusedBatchNorm(DType dtype, NormActivation activation);

}  // namespace tpuest
