#include "core/ops/conv_hlo.h"

#include <fmt/format.h>

#include <limits>

#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

struct Convolution {
  // The layouts of image, filter and result. XLA's CPU compiler has fast code only for these
  // layouts, and does not convert others inside a loop; on other backends transposing costs
  // nothing.
  std::string_view dimensions = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  std::vector<int64_t> strides = {1, 1};
  std::vector<int64_t> low = {0, 0};
  std::vector<int64_t> high = {0, 0};
  std::vector<int64_t> image_dilation = {1, 1};
  std::vector<int64_t> filter_dilation = {1, 1};
  int64_t feature_groups = 1;
  int64_t batch_groups = 1;
};

HloValue Convolve(HloBuilder& hlo, const HloValue& image, const HloValue& filter,
                  const Convolution& how, const Shape& result) {
  const std::string attrs = fmt::format(
      "{{batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{}>, "
      "feature_group_count = {} : i64, lhs_dilation = {}, "
      "padding = dense<[[{}, {}], [{}, {}]]> : tensor<2x2xi64>, "
      "{}, rhs_dilation = {}, window_strides = {}}}",
      how.batch_groups, how.dimensions, how.feature_groups, HloArray(how.image_dilation),
      how.low[0], how.high[0], how.low[1], how.high[1], hlo.PrecisionText(),
      HloArray(how.filter_dilation), HloArray(how.strides));
  return hlo.Op("convolution", {image, filter}, attrs, "", image.dtype, result);
}

bool IsDepthwise(const Node& node) { return node.type().starts_with("Depthwise"); }

std::vector<WindowAxis> AxesOf(const Node& node, const Shape& image, const Shape& filter) {
  const Windows windows = WindowsOf(node, image.dim(1), image.dim(2), filter.dim(0), filter.dim(1));
  return {windows.height, windows.width};
}

// Reshapes a depthwise filter [kh, kw, C, M] to a grouped one, [kh, kw, 1, C*M].
HloValue AsGroups(HloBuilder& hlo, const HloValue& filter) {
  return hlo.Reshape(filter, {filter.dim(0), filter.dim(1), 1, filter.dim(2) * filter.dim(3)});
}

int64_t GroupsOf(const Node& node, int64_t channels, const Shape& filter) {
  return IsDepthwise(node) ? 1 : channels / filter.dim(2);
}

// Rearranges a filter [kh, kw, C / groups, F] for the convolution in the opposite direction: [kh,
// kw, F / groups, C].
HloValue TurnedGroups(HloBuilder& hlo, const HloValue& filter, int64_t groups) {
  const int64_t inputs = filter.dim(2), outputs = filter.dim(3) / groups;
  const HloValue apart =
      hlo.Reshape(filter, {filter.dim(0), filter.dim(1), inputs, groups, outputs});
  return hlo.Reshape(hlo.Transpose(apart, {0, 1, 4, 3, 2}),
                     {filter.dim(0), filter.dim(1), outputs, groups * inputs});
}

}  // namespace

void LowerConv(LowerContext& c) {
  const HloValue image = c.Input(0);
  HloValue filter = c.Input(1);
  Convolution how;
  size_t i = 0;
  for (const WindowAxis& axis : AxesOf(c.node(), image.shape, filter.shape)) {
    how.strides[i] = axis.stride;
    how.filter_dilation[i] = axis.dilation;
    how.low[i] = axis.before;
    how.high[i] = axis.after;
    ++i;
  }
  how.feature_groups = GroupsOf(c.node(), image.dim(3), filter.shape);
  if (IsDepthwise(c.node())) {
    how.feature_groups = filter.dim(2);
    filter = AsGroups(c.hlo(), filter);
  }
  c.Output(0, Convolve(c.hlo(), image, filter, how, c.OutputShape(0)));
}

// Convolves dy, dilated by the strides, with the flipped filter.
void LowerConvBackpropInput(LowerContext& c) {
  const HloValue dy = c.Input(2);
  HloValue filter = c.hlo().Reverse(c.Input(1), {0, 1});
  Convolution how;
  size_t i = 0;
  for (const WindowAxis& axis : AxesOf(c.node(), c.OutputShape(0), filter.shape)) {
    const int64_t reach = (axis.size - 1) * axis.dilation;
    const int64_t spread = (axis.out - 1) * axis.stride + 1;
    how.image_dilation[i] = axis.stride;
    how.filter_dilation[i] = axis.dilation;
    how.low[i] = reach - axis.before;
    how.high[i] = axis.in - spread - how.low[i] + reach;
    ++i;
  }
  if (IsDepthwise(c.node())) {
    // Each channel has its own filters: [kh, kw, 1 (out), C*M (in)], in groups of M.
    how.feature_groups = filter.dim(2);
    filter = c.hlo().Transpose(filter, {0, 1, 3, 2});
  } else {
    how.feature_groups = GroupsOf(c.node(), c.OutputShape(0).dim(3), filter.shape);
    filter = TurnedGroups(c.hlo(), filter, how.feature_groups);
  }
  c.Output(0, Convolve(c.hlo(), dy, filter, how, c.OutputShape(0)));
}

// Convolves the image with dy and sums over the batch: the image's channels act as its batch.
void LowerConvBackpropFilter(LowerContext& c) {
  const HloValue image = c.Input(0);
  const HloValue dy = c.Input(2);
  const Shape& filter = c.OutputShape(0);
  Convolution how;
  size_t i = 0;
  for (const WindowAxis& axis : AxesOf(c.node(), image.shape, filter)) {
    const int64_t spread = (axis.out - 1) * axis.stride + 1;
    how.strides[i] = axis.dilation;
    how.filter_dilation[i] = axis.stride;
    how.low[i] = axis.before;
    how.high[i] = (axis.size - 1) * axis.dilation + spread - axis.in - axis.before;
    ++i;
  }
  const int64_t groups = GroupsOf(c.node(), image.dim(3), filter);
  if (groups > 1) {
    how.dimensions = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]";
    how.batch_groups = groups;
    return c.Output(0, Convolve(c.hlo(), image, dy, how, filter));
  }
  if (!IsDepthwise(c.node())) {
    const HloValue turned = Convolve(c.hlo(), c.hlo().Transpose(image, {3, 1, 2, 0}),
                                     c.hlo().Transpose(dy, {1, 2, 0, 3}), how,
                                     {filter.dim(2), filter.dim(0), filter.dim(1), filter.dim(3)});
    return c.Output(0, c.hlo().Transpose(turned, {1, 2, 0, 3}));
  }
  how.dimensions = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]";
  how.batch_groups = filter.dim(2);
  const HloValue grouped = Convolve(
      c.hlo(), image, dy, how, {filter.dim(0), filter.dim(1), 1, filter.dim(2) * filter.dim(3)});
  c.Output(0, c.hlo().Reshape(grouped, filter));
}

// ---- pooling ------------------------------------------------------------------------------------

namespace {

std::vector<WindowAxis> PoolAxes(const Node& node, const Shape& image) {
  const auto& ksize = node.Attr<std::vector<int64_t>>("ksize");
  const Windows windows = WindowsOf(node, image.dim(1), image.dim(2), ksize[1], ksize[2]);
  return {windows.height, windows.width};
}

std::string PaddingText(const std::vector<std::pair<int64_t, int64_t>>& axes) {
  return fmt::format("dense<[[0, 0], [{}, {}], [{}, {}], [0, 0]]> : tensor<4x2xi64>", axes[0].first,
                     axes[0].second, axes[1].first, axes[1].second);
}

struct Window {
  std::vector<int64_t> size;
  std::vector<int64_t> strides;
  std::vector<std::pair<int64_t, int64_t>> padding;
};

Window HloWindowOf(const std::vector<WindowAxis>& axes) {
  return {{axes[0].size, axes[1].size},
          {axes[0].stride, axes[1].stride},
          {{axes[0].before, axes[0].after}, {axes[1].before, axes[1].after}}};
}

HloValue ReduceWindow(HloBuilder& hlo, std::string_view op, const HloValue& x, double init,
                      const Window& window, const Shape& result) {
  const std::string attrs = fmt::format(
      "{{window_dimensions = {}, window_strides = {}, padding = {}}}",
      HloArray({1, window.size[0], window.size[1], 1}),
      HloArray({1, window.strides[0], window.strides[1], 1}), PaddingText(window.padding));
  return hlo.Op("reduce_window", {x, hlo.Full(x.dtype, Shape(), init)}, attrs,
                hlo.BinaryRegion(op, x.dtype), x.dtype, result);
}

// Counts the pixels of the image in each window: [1, H', W', 1].
HloValue Counts(HloBuilder& hlo, DType dtype, const std::vector<WindowAxis>& axes) {
  const HloValue ones = hlo.Full(dtype, {1, axes[0].in, axes[1].in, 1}, 1);
  return ReduceWindow(hlo, "add", ones, 0, HloWindowOf(axes), {1, axes[0].out, axes[1].out, 1});
}

}  // namespace

void LowerMaxPool(LowerContext& c) {
  const HloValue x = c.Input(0);
  c.Output(0, ReduceWindow(c.hlo(), "maximum", x, -std::numeric_limits<double>::infinity(),
                           HloWindowOf(PoolAxes(c.node(), x.shape)), c.OutputShape(0)));
}

namespace {

// Start and end of the elements that position (i, j) of every window reads in the padded image.
struct Place {
  std::vector<int64_t> begin, end;
};

std::vector<Place> PlacesOf(const std::vector<WindowAxis>& axes, const HloValue& padded) {
  std::vector<Place> places;
  const int64_t height = (axes[0].out - 1) * axes[0].stride + 1;
  const int64_t width = (axes[1].out - 1) * axes[1].stride + 1;
  for (int64_t i = 0; i < axes[0].size; ++i) {
    for (int64_t j = 0; j < axes[1].size; ++j) {
      places.push_back({{0, i, j, 0}, {padded.dim(0), i + height, j + width, padded.dim(3)}});
    }
  }
  return places;
}

}  // namespace

// Finds the first largest value of each window, position by position, row by row, and adds dy
// there. (Which of several equal values select_and_scatter takes depends on the plugin.) Keeps x as
// one value: if x were computed twice, the last bit might differ and another element might be the
// largest.
void LowerMaxPoolGrad(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue given = c.Input(0);
  const HloValue x = hlo.Op("optimization_barrier", {given}, "", "", given.dtype, given.shape);
  const HloValue dy = c.Input(2);
  const std::vector<WindowAxis> axes = PoolAxes(c.node(), x.shape);
  const std::vector<int64_t> low = {0, axes[0].before, axes[1].before, 0};
  const HloValue padded = hlo.Pad(x, -std::numeric_limits<double>::infinity(), low,
                                  {0, axes[0].after, axes[1].after, 0}, {0, 0, 0, 0});
  const std::vector<int64_t> strides = {1, axes[0].stride, axes[1].stride, 1};
  const std::vector<Place> places = PlacesOf(axes, padded);
  HloValue largest = hlo.Slice(padded, places[0].begin, places[0].end, strides);
  HloValue at = hlo.Full(DType::kInt32, dy.shape, 0);
  for (size_t k = 1; k < places.size(); ++k) {
    const HloValue other = hlo.Slice(padded, places[k].begin, places[k].end, strides);
    const HloValue larger = hlo.Compare("GT", other, largest);
    largest = hlo.Select(larger, other, largest);
    at = hlo.Select(larger, hlo.FullLike(at, static_cast<double>(k)), at);
  }
  HloValue dx = hlo.FullLike(padded, 0);
  for (size_t k = 0; k < places.size(); ++k) {
    const auto& [begin, end] = places[k];
    const HloValue taken = hlo.Compare("EQ", at, hlo.FullLike(at, static_cast<double>(k)));
    const HloValue part = hlo.Pad(hlo.Select(taken, dy, hlo.FullLike(dy, 0)), 0, begin,
                                  {0, padded.dim(1) - end[1], padded.dim(2) - end[2], 0},
                                  {0, axes[0].stride - 1, axes[1].stride - 1, 0});
    dx = hlo.Binary("add", dx, part);
  }
  c.Output(0, hlo.Slice(dx, low, {x.dim(0), low[1] + x.dim(1), low[2] + x.dim(2), x.dim(3)},
                        {1, 1, 1, 1}));
}

void LowerAvgPool(LowerContext& c) {
  const HloValue x = c.Input(0);
  const std::vector<WindowAxis> axes = PoolAxes(c.node(), x.shape);
  const HloValue sum = ReduceWindow(c.hlo(), "add", x, 0, HloWindowOf(axes), c.OutputShape(0));
  c.Output(0, c.hlo().Binary("divide", sum, Counts(c.hlo(), x.dtype, axes)));
}

// Sums dy divided by the counts, dilated by the strides, over the same windows.
void LowerAvgPoolGrad(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue dy = c.Input(1);
  const std::vector<WindowAxis> axes = PoolAxes(c.node(), c.OutputShape(0));
  const HloValue shares = hlo.Binary("divide", dy, Counts(hlo, dy.dtype, axes));
  const HloValue spread = hlo.Pad(shares, 0, {0, 0, 0, 0}, {0, 0, 0, 0},
                                  {0, axes[0].stride - 1, axes[1].stride - 1, 0});
  Window window{{axes[0].size, axes[1].size}, {1, 1}, {}};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t low = axes[i].size - 1 - axes[i].before;
    const int64_t high = axes[i].in - spread.dim(static_cast<int>(i) + 1) - low + axes[i].size - 1;
    window.padding.emplace_back(low, high);
  }
  c.Output(0, ReduceWindow(hlo, "add", spread, 0, window, c.OutputShape(0)));
}

}  // namespace tpuest::ops
