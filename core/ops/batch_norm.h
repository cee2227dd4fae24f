#pragma once
// Batch normalization (Ioffe and Szegedy 2015) over all axes of an NHWC tensor except the last.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct BatchNormOptions {
  float epsilon = 0.0001F;
  // 1: batch_mean and batch_variance are those of the batch. Below 1 they are mixed with the moving
  // averages: moving * (1 - factor) + batch * factor.
  float exponential_avg_factor = 1.0F;
  bool is_training = true;
};

struct BatchNormResult {
  Value y;               // of x's shape and dtype
  Value batch_mean;      // float [C]
  Value batch_variance;  // float [C]; in training, divided by n - 1 for n values, as in TensorFlow
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset, with the batch's statistics in
// training (the variance divided by n), otherwise with the given ones. x [N, H, W, C]; scale,
// offset, mean, variance float [C]. In training, mean and variance are read only if the factor is
// below 1, and may be empty otherwise.
BatchNormResult FusedBatchNormV3(Value x, Value scale, Value offset, Value mean, Value variance,
                                 const BatchNormOptions& options = {}, std::string_view name = "");

OpFamily BatchNormOps();

}  // namespace tpuest::ops
