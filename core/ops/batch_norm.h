#pragma once
// Batch normalisation (Ioffe and Szegedy 2015) over all axes of an NHWC tensor but the last.

#include <string_view>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct BatchNormOptions {
  float epsilon = 0.0001F;
  // 1: batch_mean and batch_variance are the batch's. Below 1 they are already mixed into the
  // moving ones: moving * (1 - factor) + batch * factor.
  float exponential_avg_factor = 1.0F;
  bool is_training = true;
};

struct BatchNormResult {
  Value y;               // of x's shape and dtype
  Value batch_mean;      // float [C]
  Value batch_variance;  // float [C]; in training over n - 1 of the n values, as TensorFlow has it
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset: by the batch's statistics in training
// (the variance over n values), else by the given ones. x [N, H, W, C]; scale, offset, mean,
// variance float [C] (in training mean and variance are read only below factor 1 and may be empty).
BatchNormResult FusedBatchNormV3(Value x, Value scale, Value offset, Value mean, Value variance,
                                 const BatchNormOptions& options = {}, std::string_view name = "");

OpFamily BatchNormOps();

}  // namespace tpuest::ops
