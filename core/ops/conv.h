#pragma once
// Convolutions over images in NHWC: x [N, H, W, C], filter [kh, kw, C, F] -> y [N, H', W', F].

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct ConvOptions {
  std::vector<int64_t> strides = {1, 1};    // height, width
  std::string padding = "SAME";             // SAME, VALID, EXPLICIT
  std::vector<int64_t> explicit_paddings;   // EXPLICIT: top, bottom, left, right
  std::vector<int64_t> dilations = {1, 1};  // height, width
  std::string data_format = "NHWC";         // the only supported value
};

// With a filter [kh, kw, C / groups, F], channels and results are split into groups: each group of
// F / groups results reads only its own C / groups channels.
//
// y[n,i,j,f] = sum over (a,b,c) of x[n, i*sh + a*dh - top, j*sw + b*dw - left, c] *
// filter[a,b,c,f]. H' is ceil(H / sh) for SAME, ceil((H - (kh-1)*dh) / sh) for VALID.
Value Conv2D(Value x, Value filter, const ConvOptions& options = {}, std::string_view name = "");
// dx of Conv2D; input_sizes int32 [4] is x's shape.
Value Conv2DBackpropInput(Value input_sizes, Value filter, Value dy,
                          const ConvOptions& options = {}, std::string_view name = "");
// dfilter of Conv2D; filter_sizes int32 [4].
Value Conv2DBackpropFilter(Value x, Value filter_sizes, Value dy, const ConvOptions& options = {},
                           std::string_view name = "");

// Applies M filters to each channel: x [N, H, W, C], filter [kh, kw, C, M] -> y [N, H', W', C*M];
// channel c, filter m is output channel c*M + m. Both strides are equal.
Value DepthwiseConv2dNative(Value x, Value filter, const ConvOptions& options = {},
                            std::string_view name = "");

OpFamily ConvOps();

}  // namespace tpuest::ops
