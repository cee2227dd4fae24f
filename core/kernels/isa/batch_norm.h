#pragma once
// The parts of batch normalisation (Ioffe and Szegedy 2015) over x [rows, channels]. Callers may
// cut the rows into blocks and add the sums. x, y, dy, dx are bfloat16, float or double;
// statistics, scale, offset and sums are double if x is double, otherwise float.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

struct BatchNormKernels {
  // sum[c] = sum of x[., c].
  void (*sum)(const void* x, void* sum, int64_t rows, int64_t channels);
  // sum[c] = sum of (x[., c] - mean[c])^2.
  void (*centered_square_sum)(const void* x, const void* mean, void* sum, int64_t rows,
                              int64_t channels);
  // y = (x - mean) / sqrt(variance + epsilon) * scale + offset.
  void (*apply)(const void* x, const void* scale, const void* offset, const void* mean,
                const void* variance, double epsilon, void* y, int64_t rows, int64_t channels);
  // dy_sum = sum of dy, dot = sum of dy * (x - mean) / sqrt(variance + epsilon).
  void (*grad_sums)(const void* dy, const void* x, const void* mean, const void* variance,
                    double epsilon, void* dy_sum, void* dot, int64_t rows, int64_t channels);
  // With r = 1 / sqrt(variance + epsilon) and the sums over all `count` rows: dx = scale * r * (dy
  // - dy_sum / count - (x - mean) * r * dot / count). If count is 0, the statistics do not depend
  // on x: dx = scale * r * dy.
  void (*grad_apply)(const void* dy, const void* x, const void* scale, const void* mean,
                     const void* variance, const void* dy_sum, const void* dot, double epsilon,
                     int64_t count, void* dx, int64_t rows, int64_t channels);
};

[[nodiscard]] BatchNormKernels FindBatchNorm(DType dtype);

}  // namespace tpuest
