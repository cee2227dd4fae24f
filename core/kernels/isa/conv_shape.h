#pragma once
// The sizes of a two-dimensional convolution.

#include <cstdint>

namespace tpuest {

// One axis of a window that slides over an image.
struct WindowAxis {
  int64_t in = 0;    // of the image
  int64_t out = 0;   // of the result
  int64_t size = 1;  // of the window
  int64_t stride = 1;
  int64_t dilation = 1;  // distance between neighbours in the window
  int64_t before = 0;    // zeros before the image
  int64_t after = 0;     // zeros after the image
};

struct ConvShape {
  int64_t batch = 0;
  WindowAxis height;
  WindowAxis width;
  int64_t channels = 0;
  int64_t filters = 0;     // channels of the result; depthwise: channels * multiplier
  bool depthwise = false;  // filter [kh, kw, C, M], result channel c*M + m
  // Filter [kh, kw, C / groups, F]: each group of channels gives a group of results.
  int64_t groups = 1;
};

}  // namespace tpuest
