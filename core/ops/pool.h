#pragma once
// Pooling over windows of an image in NHWC: x [N, H, W, C] -> y [N, H', W', C].

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct PoolOptions {
  std::vector<int64_t> ksize = {2, 2};    // height, width
  std::vector<int64_t> strides = {2, 2};  // height, width
  std::string padding = "VALID";          // or SAME
  std::string data_format = "NHWC";       // the only supported value
};

// The maximum of each window.
Value MaxPool(Value x, const PoolOptions& options = {}, std::string_view name = "");
// dx of y = MaxPool(x): dy goes to the first largest value of each window, row by row.
Value MaxPoolGrad(Value x, Value y, Value dy, const PoolOptions& options = {},
                  std::string_view name = "");
// The mean of the part of the image that a window covers (padding does not count).
Value AvgPool(Value x, const PoolOptions& options = {}, std::string_view name = "");

OpFamily PoolOps();

}  // namespace tpuest::ops
