#pragma once
// Windows that slide over an NHWC image, shared by convolution and pooling.

#include <string_view>

#include "core/graph/graph.h"
#include "core/kernels/isa/conv_shape.h"

namespace tpuest::ops {

// Shape functions: fail for a data_format other than NHWC, and for strides, dilations or paddings
// that are not over height and width.
void CheckWindows(const ShapeContext& context);

// The windows over an NHWC image [.., in_height, in_width, ..] under a node's strides, dilations
// and padding. Either size may be kUnknownDim, and then so is the result.
struct Windows {
  WindowAxis height;
  WindowAxis width;
};
[[nodiscard]] Windows WindowsOf(const Node& node, int64_t in_height, int64_t in_width,
                                int64_t size_height, int64_t size_width);
// WindowsOf for a shape function: fails if the image is smaller than the window.
[[nodiscard]] Windows CheckedWindows(const ShapeContext& context, const Shape& image,
                                     int64_t size_height, int64_t size_width);

// [1, height, width, 1], as TensorFlow writes strides, dilations and window sizes. Throws Error
// kUsage unless there are two numbers.
[[nodiscard]] std::vector<int64_t> OverNhwc(const std::vector<int64_t>& height_width,
                                            std::string_view what);

// The OpDef::grad of a gradient op that cannot be differentiated again: throws an Error kUsage that
// says so.
void NoSecondGradient(GradContext& context);

// Returns the shape of x as a value: a constant if the shape is static, otherwise its ShapeOf.
[[nodiscard]] Value SizesOf(Value x);

}  // namespace tpuest::ops
