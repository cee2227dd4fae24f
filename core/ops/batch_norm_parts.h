#pragma once
// Batch normalization in parts that may run on blocks of rows.
//
// The statistics cover the whole batch although its rows are cut into blocks. So planning first
// replaces FusedBatchNormV3 and its gradient by sums over rows and by row-wise ops:
//
//   _BatchNormSum(x)                      sum of x                                      [C]
//   _BatchNormCenteredSquareSum(x, mean)  sum of (x - mean)^2                           [C]
//   _BatchNormApply(x, scale, offset, mean, variance)                                  as x
//   _BatchNormGradSums(dy, x, mean, variance)  sum of dy, sum of dy * normalized x      [C], [C]
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
// count: the number of values per channel in mean and variance; 0 if they do not depend on x.
Value BatchNormGradApply(Value dy, Value x, Value scale, Value mean, Value variance,
                         const BatchNormGradSumsResult& sums, float epsilon, int64_t count);

}  // namespace tpuest::ops
