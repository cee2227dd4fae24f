#pragma once
// Batch normalisation in parts that may run on blocks of rows.
//
// The statistics are the whole batch's while its rows are cut into blocks, so FusedBatchNormV3 and
// its gradient are replaced, before planning, by sums over rows and by what is then done row by
// row:
//
//   _BatchNormSum(x)                      sum of x                                      [C]
//   _BatchNormCenteredSquareSum(x, mean)  sum of (x - mean)^2                           [C]
//   _BatchNormApply(x, scale, offset, mean, variance)                                  as x
//   _BatchNormGradSums(dy, x, mean, variance)  sum of dy, sum of dy * normalised x      [C], [C]
//   _BatchNormGradApply(dy, x, scale, mean, variance, dy_sum, dot)                     as x

#include "core/graph/graph.h"

namespace tpuest::ops {

OpFamily BatchNormPartOps();

Value BatchNormSum(Value x, DType sum_type);
Value BatchNormCenteredSquareSum(Value x, Value mean);
Value BatchNormApply(Value x, Value scale, Value offset, Value mean, Value variance, float epsilon);

struct BatchNormGradSumsResult {
  Value dy_sum;
  Value dot;
};
BatchNormGradSumsResult BatchNormGradSums(Value dy, Value x, Value mean, Value variance,
                                          float epsilon);
// count: values of a channel that mean and variance were taken over; 0: they do not depend on x.
Value BatchNormGradApply(Value dy, Value x, Value scale, Value mean, Value variance,
                         const BatchNormGradSumsResult& sums, float epsilon, int64_t count);

}  // namespace tpuest::ops
