#pragma once
// Batch normalisation as the fusion of a bound graph makes it (core/backend/cpu/norm_fusion.cpp):
// one pass over the data where the parts of batch_norm_parts.h, the activation and the addition
// behind them would be several.
//
//   _BatchNormMoments(x)                  sum of x, sum of x^2, in double       [C], [C]
//   _BatchNormStatistics(those)           mean, sum of (x - mean)^2             [C], [C]
//   _FusedBatchNormApply(x, ...)          activation(normalised x)              as x
//   _FusedBatchNormAdd(x, ..., side)      activation(normalised x + side)       as x
//   _FusedBatchNormGradSums(dy, x, ...)   as _BatchNormGradSums, dy behind the activation
//   _FusedBatchNormGradApply(dy, x, ...)  as _BatchNormGradApply, dy behind the activation

#include "core/graph/graph.h"

namespace tpuest::ops {

OpFamily FusedBatchNormOps();

}  // namespace tpuest::ops
