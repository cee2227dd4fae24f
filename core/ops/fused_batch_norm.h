#pragma once
// Batch normalization as the fusion of a bound graph makes it (core/backend/cpu/norm_fusion.cpp):
// one pass over the data instead of one per part of batch_norm_parts.h, activation and addition.
//
//   _BatchNormMoments(x)                  sum of x, sum of x^2, in double       [C], [C]
//   _BatchNormStatistics(moments)         mean, sum of (x - mean)^2             [C], [C]
//   _FusedBatchNormApply(x, ...)          activation(normalized x)              as x
//   _FusedBatchNormAdd(x, ..., side)      activation(normalized x + side)       as x
//   _FusedBatchNormGradSums(dy, x, ...)   as _BatchNormGradSums, dy after the activation
//   _FusedBatchNormGradApply(dy, x, ...)  as _BatchNormGradApply, dy after the activation

#include "core/graph/graph.h"

namespace tpuest::ops {

OpFamily FusedBatchNormOps();

}  // namespace tpuest::ops
