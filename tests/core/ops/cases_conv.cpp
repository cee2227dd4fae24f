// Convolutions and their gradients, compared with their definition and with TensorFlow's numbers
// for images that count 1, 2, 3, ...

#include <numeric>

#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/conv.h"
#include "tests/core/ops/naive_windows.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

struct Sizes {
  std::string claim;
  Shape x;
  Shape filter;
  NaiveWindow window;
  bool depthwise = false;
  bool numeric_gradient = true;  // false if it would take long
};

ops::ConvOptions OptionsOf(const NaiveWindow& window) {
  return {.strides = window.strides,
          .padding = window.padding,
          .explicit_paddings = window.explicit_paddings,
          .dilations = window.dilations};
}

Value Forward(const Sizes& sizes, Value x, Value filter) {
  const ops::ConvOptions options = OptionsOf(sizes.window);
  return sizes.depthwise ? ops::DepthwiseConv2dNative(x, filter, options)
                         : ops::Conv2D(x, filter, options);
}

// The attributes of a convolution, for the gradient ops that have no function of their own.
Attrs AttrsOf(const NaiveWindow& w) {
  return {{"strides", std::vector<int64_t>{1, w.strides[0], w.strides[1], 1}},
          {"padding", w.padding},
          {"dilations", std::vector<int64_t>{1, w.dilations[0], w.dilations[1], 1}}};
}

Value InputGrad(const Sizes& sizes, Value x, Value filter, Value dy) {
  const Value of = ops::ShapeOf(x);
  if (!sizes.depthwise) {
    return ops::Conv2DBackpropInput(of, filter, dy, OptionsOf(sizes.window));
  }
  return dy.graph().Add("DepthwiseConv2dNativeBackpropInput", {of, filter, dy},
                        AttrsOf(sizes.window));
}

Value FilterGrad(const Sizes& sizes, Value x, Value filter, Value dy) {
  const Value of = ops::ShapeOf(filter);
  if (!sizes.depthwise) return ops::Conv2DBackpropFilter(x, of, dy, OptionsOf(sizes.window));
  return dy.graph().Add("DepthwiseConv2dNativeBackpropFilter", {x, of, dy}, AttrsOf(sizes.window));
}

enum class Side { kForward, kInputGrad, kFilterGrad };

std::string NameOf(Side side, bool depthwise) {
  std::string forward = depthwise ? "DepthwiseConv2dNative" : "Conv2D";
  if (side == Side::kForward) return forward;
  return forward + (side == Side::kInputGrad ? "BackpropInput" : "BackpropFilter");
}

// One of the three ops; its inputs are x, filter and, except for the forward op, dy.
OpCase Row(const Sizes& sizes, Side side, std::vector<Tensor> inputs, Tensor expected) {
  OpCase op_case{.op = NameOf(side, sizes.depthwise),
                 .claim = sizes.claim,
                 .inputs = std::move(inputs),
                 .expected = {std::move(expected)},
                 .batch = {0},
                 .sums_rows = side == Side::kFilterGrad,
                 .numeric_gradient = sizes.numeric_gradient};
  if (side != Side::kForward) op_case.batch.push_back(2);
  op_case.build = [sizes, side](Graph&, const In& in) {
    if (side == Side::kForward) return Built{{Forward(sizes, in[0], in[1])}, {}};
    if (side == Side::kInputGrad) return Built{{InputGrad(sizes, in[0], in[1], in[2])}, {}};
    return Built{{FilterGrad(sizes, in[0], in[1], in[2])}, {}};
  };
  return op_case;
}

std::vector<OpCase> RowsOf(Sizes sizes) {
  sizes.window.size = {sizes.filter.dim(0), sizes.filter.dim(1)};
  const NaiveConv naive(sizes.x, sizes.filter, sizes.window, sizes.depthwise);
  const Tensor x = Wave(sizes.x, 1, 0.1F);
  const Tensor filter = Wave(sizes.filter, 0.5F, 0.1F);
  const Tensor dy = Wave(naive.y_shape, 1, -0.2F);
  return {Row(sizes, Side::kForward, {x, filter}, naive.Forward(x, filter)),
          Row(sizes, Side::kInputGrad, {x, filter, dy}, naive.InputGrad(filter, dy)),
          Row(sizes, Side::kFilterGrad, {x, filter, dy}, naive.FilterGrad(x, dy))};
}

std::vector<Sizes> AllSizes() {
  return {
      {"SAME", {2, 5, 5, 1}, {3, 3, 1, 2}, {}},
      {"VALID", {2, 6, 5, 3}, {3, 2, 3, 4}, {.padding = "VALID"}},
      {"SAME, strides 2, pads an even image behind only",
       {2, 6, 6, 2},
       {3, 3, 2, 3},
       {.strides = {2, 2}}},
      {"strides that differ", {2, 7, 6, 2}, {2, 3, 2, 2}, {.strides = {3, 2}, .padding = "VALID"}},
      {"1x1, strides 2", {2, 5, 5, 3}, {1, 1, 3, 4}, {.strides = {2, 2}}},
      {"dilated, SAME", {1, 7, 7, 2}, {3, 3, 2, 2}, {.dilations = {2, 3}}},
      {"dilated, VALID", {1, 7, 6, 2}, {3, 2, 2, 2}, {.dilations = {2, 2}, .padding = "VALID"}},
      {"EXPLICIT",
       {2, 4, 5, 2},
       {2, 3, 2, 2},
       {.padding = "EXPLICIT", .explicit_paddings = {1, 0, 2, 1}}},
      {"a filter larger than the image", {2, 2, 3, 2}, {5, 5, 2, 2}, {}},
      {"one channel to many", {2, 12, 12, 1}, {5, 5, 1, 32}, {}, false, false},
      {"many channels", {2, 6, 6, 32}, {3, 3, 32, 48}, {}, false, false},
      {"SAME", {2, 5, 5, 4}, {3, 3, 4, 1}, {}, true},
      {"three filters a channel, VALID", {2, 5, 4, 2}, {3, 2, 2, 3}, {.padding = "VALID"}, true},
      {"SAME, strides 2", {2, 6, 6, 3}, {3, 3, 3, 2}, {.strides = {2, 2}}, true},
      {"dilated", {1, 6, 7, 2}, {3, 3, 2, 1}, {.dilations = {2, 2}}, true},
      {"many channels", {2, 6, 6, 48}, {3, 3, 48, 1}, {}, true, false},
      {"two groups", {2, 5, 4, 4}, {3, 2, 2, 6}, {.strides = {2, 1}}},
      {"a group a channel, VALID", {2, 4, 5, 3}, {2, 2, 1, 3}, {.padding = "VALID"}},
      {"groups of many, dilated",
       {1, 6, 6, 32},
       {3, 3, 16, 16},
       {.dilations = {2, 1}},
       false,
       false},
  };
}

Tensor Counting(Shape shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 1.0F);
  return Floats(std::move(shape), values);
}

std::vector<OpCase> CountingRows(const Sizes& sizes, const Tensor& y, const Tensor& dx,
                                 const Tensor& dfilter) {
  const Tensor x = Counting(sizes.x);
  const Tensor filter = Counting(sizes.filter);
  const Tensor dy = Counting(y.shape());
  return {Row(sizes, Side::kForward, {x, filter}, y),
          Row(sizes, Side::kInputGrad, {x, filter, dy}, dx),
          Row(sizes, Side::kFilterGrad, {x, filter, dy}, dfilter)};
}

std::vector<OpCase> SameCountingRows() {
  return CountingRows(
      {"TensorFlow's, SAME by 2", {1, 4, 4, 1}, {3, 3, 1, 1}, {.strides = {2, 2}}},
      Floats({1, 2, 2, 1}, {348, 252, 274, 175}),
      Floats({1, 4, 4, 1}, {1, 2, 5, 4, 4, 5, 14, 10, 10, 14, 36, 24, 12, 15, 34, 20}),
      Floats({3, 3, 1, 1}, {78, 88, 36, 118, 128, 52, 31, 34, 11}));
}

std::vector<OpCase> ValidCountingRows() {
  return CountingRows(
      {"TensorFlow's, VALID", {1, 4, 4, 1}, {3, 3, 1, 1}, {.padding = "VALID"}},
      Floats({1, 2, 2, 1}, {348, 393, 528, 573}),
      Floats({1, 4, 4, 1}, {1, 4, 7, 6, 7, 23, 33, 24, 19, 53, 63, 42, 21, 52, 59, 36}),
      Floats({3, 3, 1, 1}, {44, 54, 64, 84, 94, 104, 124, 134, 144}));
}

std::vector<OpCase> DepthwiseCountingRows() {
  return CountingRows({"TensorFlow's", {1, 4, 2, 2}, {2, 1, 2, 2}, {.padding = "VALID"}, true},
                      Floats({1, 3, 2, 4}, {26, 32, 48,  56,  38, 48, 68,  80,  50, 64,  88,  104,
                                            62, 80, 108, 128, 74, 96, 128, 152, 86, 112, 148, 176}),
                      Floats({1, 4, 2, 2}, {5, 25, 17, 53, 46, 134, 102, 222, 158, 310, 214, 398,
                                            193, 293, 237, 353}),
                      Floats({2, 1, 2, 2}, {536, 572, 686, 728, 800, 860, 998, 1064}));
}

// Sequences of ops as in layers, which the engine may fuse.
std::vector<OpCase> LayerRows() {
  const Sizes sizes{"", {3, 6, 6, 2}, {3, 3, 2, 4}, {}};
  const auto layer = [sizes](const In& in) {
    return ops::BiasAdd(Forward(sizes, in[0], in[1]), in[2]);
  };
  OpCase biased{.op = "Conv2D",
                .claim = "with a bias",
                .inputs = {Wave(sizes.x), Wave(sizes.filter, 0.5F), Wave({4}, 0.5F)},
                .build =
                    [layer](Graph&, const In& in) {
                      return Built{{layer(in)}, {}};
                    },
                .batch = {0}};
  OpCase activated = biased;
  activated.claim = "with a bias and ReLU";
  activated.build = [layer](Graph&, const In& in) { return Built{{ops::Relu(layer(in))}, {}}; };
  return {biased, activated};
}

}  // namespace

std::vector<OpCase> ConvCases() {
  std::vector<OpCase> all = LayerRows();
  const auto add = [&](std::vector<OpCase> rows) {
    for (OpCase& row : rows) all.push_back(std::move(row));
  };
  for (const Sizes& sizes : AllSizes()) add(RowsOf(sizes));
  for (const auto rows : {SameCountingRows, ValidCountingRows, DepthwiseCountingRows}) add(rows());
  return all;
}

}  // namespace tpuest
