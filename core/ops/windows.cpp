#include "core/ops/windows.h"

#include <algorithm>

#include "core/graph/gradient.h"
#include "core/ops/array.h"

namespace tpuest::ops {
namespace {

using Ints = std::vector<int64_t>;

// TensorFlow limits these numbers to 31 bits, so sums and products of two do not overflow int64.
constexpr int64_t kMostStep = INT32_MAX;
bool IsStep(int64_t value) { return value >= 1 && value <= kMostStep; }

void CheckOverNhwc(const ShapeContext& context, std::string_view name) {
  if (!context.node().HasAttr(name)) return;
  const auto& values = context.node().Attr<Ints>(name);
  const bool fits = values[0] == 1 && values[3] == 1 && IsStep(values[1]) && IsStep(values[2]);
  if (!fits) {
    context.Fail(
        fmt::format("{} is [{}], expected [1, height, width, 1]", name, fmt::join(values, ", ")));
  }
}

WindowAxis AxisOf(const Node& node, size_t axis, int64_t in, int64_t size) {
  WindowAxis result{.in = in, .out = kUnknownDim, .size = size};
  result.stride = node.Attr<Ints>("strides")[axis];
  if (node.HasAttr("dilations")) result.dilation = node.Attr<Ints>("dilations")[axis];
  const auto& padding = node.Attr<std::string>("padding");
  if (padding == "EXPLICIT") {
    const auto& paddings = node.Attr<Ints>("explicit_paddings");
    result.before = paddings[2 * axis];
    result.after = paddings[2 * axis + 1];
  }
  if (in == kUnknownDim || size == kUnknownDim) return result;
  const int64_t span = (size - 1) * result.dilation + 1;
  if (padding == "SAME") {
    result.out = (in + result.stride - 1) / result.stride;
    const int64_t total = std::max<int64_t>((result.out - 1) * result.stride + span - in, 0);
    result.before = total / 2;
    result.after = total - result.before;
  } else {
    const int64_t room = in + result.before + result.after - span;
    result.out = room < 0 ? 0 : room / result.stride + 1;
  }
  return result;
}

}  // namespace

void CheckWindows(const ShapeContext& context) {
  const Node& node = context.node();
  const auto& format = node.Attr<std::string>("data_format");
  if (format != "NHWC") {
    context.Fail(fmt::format("data_format is {}, expected NHWC: move the channels to the last axis",
                             format));
  }
  for (const std::string_view name : {"strides", "dilations", "ksize"}) {
    CheckOverNhwc(context, name);
  }
  if (node.Attr<std::string>("padding") != "EXPLICIT") return;
  const auto& paddings = node.Attr<Ints>("explicit_paddings");
  const bool fits = paddings.size() == 8 && paddings[0] == 0 && paddings[1] == 0 &&
                    paddings[6] == 0 && paddings[7] == 0 &&
                    *std::min_element(paddings.begin(), paddings.end()) >= 0 &&
                    *std::max_element(paddings.begin(), paddings.end()) <= kMostStep;
  if (!fits) {
    context.Fail(
        fmt::format("explicit_paddings is [{}], expected [0, 0, top, bottom, left, right, 0, 0]",
                    fmt::join(paddings, ", ")));
  }
}

Windows WindowsOf(const Node& node, int64_t in_height, int64_t in_width, int64_t size_height,
                  int64_t size_width) {
  return {AxisOf(node, 1, in_height, size_height), AxisOf(node, 2, in_width, size_width)};
}

Windows CheckedWindows(const ShapeContext& context, const Shape& image, int64_t size_height,
                       int64_t size_width) {
  if (std::max(size_height, size_width) > kMostStep) context.Fail("the window is too large");
  const Windows windows =
      WindowsOf(context.node(), image.dim(1), image.dim(2), size_height, size_width);
  if (windows.height.out == 0 || windows.width.out == 0) {
    context.Fail(fmt::format("a window of {}x{} does not fit into an image of {}x{}", size_height,
                             size_width, image.dim(1), image.dim(2)));
  }
  return windows;
}

std::vector<int64_t> OverNhwc(const std::vector<int64_t>& height_width, std::string_view what) {
  if (height_width.size() != 2) {
    throw Error(Code::kUsage, fmt::format("{} are [{}], expected [height, width]", what,
                                          fmt::join(height_width, ", ")));
  }
  return {1, height_width[0], height_width[1], 1};
}

void NoSecondGradient(GradContext& context) {
  throw Error(Code::kUsage, fmt::format("{} '{}': a gradient of this gradient is not available",
                                        context.node().type(), context.node().name()))
      .At(context.node().origin());
}

Value SizesOf(Value x) {
  return x.shape().fully_known() ? Int32s(x.graph(), x.shape().dims(), "Shape") : ShapeOf(x);
}

}  // namespace tpuest::ops
