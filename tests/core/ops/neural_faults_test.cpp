// Invalid images, filters, matrices and labels are refused with a message.

#include <doctest/doctest.h>

#include <functional>

#include "core/backend/cpu/program.h"
#include "core/base/error.h"
#include "core/graph/gradient.h"
#include "core/ops/array.h"
#include "core/ops/batch_norm.h"
#include "core/ops/bias.h"
#include "core/ops/conv.h"
#include "core/ops/image.h"
#include "core/ops/matmul.h"
#include "core/ops/pool.h"
#include "core/ops/reduction.h"
#include "core/ops/softmax.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

using Shapes = std::vector<Shape>;

// The message of the Error kUsage that building on placeholders throws, or "" if there is none.
std::string Refusal(const Shapes& shapes,
                    const std::function<void(const std::vector<Value>&)>& build) {
  Graph graph(TestRegistry());
  std::vector<Value> in;
  for (const Shape& shape : shapes) in.push_back(graph.Placeholder(DType::kFloat, shape, "x"));
  try {
    build(in);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    return error.message();
  }
  return "";
}

std::string Conv(const Shapes& shapes, const ops::ConvOptions& options = {}) {
  return Refusal(shapes, [&](const std::vector<Value>& in) { ops::Conv2D(in[0], in[1], options); });
}

TEST_CASE("a convolution that does not fit names image and filter") {
  CHECK(
      Conv({{2, 5, 5, 3}, {3, 3, 4, 8}}) ==
      "Conv2D 'Conv2D': the image has 3 channels ([2,5,5,3]), but the filter takes 4 ([3,3,4,8])");
  CHECK(Conv({{5, 5, 3}, {3, 3, 3, 8}}) ==
        "Conv2D 'Conv2D': the image [N, H, W, C] must have rank 4, found [5,5,3]");
  CHECK(Conv({{2, 2, 5, 3}, {3, 3, 3, 8}}, {.padding = "VALID"}) ==
        "Conv2D 'Conv2D': a window of 3x3 does not fit into an image of 2x5");
  CHECK(Conv({{2, 5, 5, 3}, {0, 3, 3, 8}}, {.padding = "SAME"}) ==
        "Conv2D 'Conv2D': the filter [0,3,3,8] has no elements");
  CHECK(Conv({{2, 5, 5, 3}, {3, 3, 3, 0}}, {.padding = "SAME"}) ==
        "Conv2D 'Conv2D': the filter [3,3,3,0] has no elements");
  CHECK(Conv({{2, 5, 5, 3}, {3, 3, 3, 8}}, {.padding = "FULL"}) ==
        "Conv2D 'Conv2D': padding is 'FULL', expected SAME, VALID or EXPLICIT");
  CHECK(Conv({{2, 5, 5, 3}, {3, 3, 3, 8}}, {.strides = {0, 1}}) ==
        "Conv2D 'Conv2D': strides is [1, 0, 1, 1], expected [1, height, width, 1]");
  CHECK(Conv({{2, 5, 5, 3}, {3, 3, 3, 8}}, {.strides = {2}}) ==
        "strides are [2], expected [height, width]");
  CHECK(Conv({{2, 5, 5, 3}, {3, 3, 3, 8}}, {.data_format = "NCHW"}) ==
        "Conv2D 'Conv2D': data_format is NCHW, expected NHWC: move the channels to the last "
        "axis");
  CHECK(
      Conv({{2, 5, 5, 3}, {3, 3, 3, 8}}, {.padding = "EXPLICIT"}) ==
      "Conv2D 'Conv2D': explicit_paddings is [], expected [0, 0, top, bottom, left, right, 0, 0]");
  CHECK(
      Refusal({{2, 5, 5, 3}, {3, 3, 3, 1}},
              [](const std::vector<Value>& in) {
                ops::DepthwiseConv2dNative(in[0], in[1], {.strides = {1, 2}});
              }) ==
      "DepthwiseConv2dNative 'DepthwiseConv2dNative': strides are 1x2, expected two equal numbers");
}

TEST_CASE("a window larger than the image is named") {
  CHECK(Refusal({{2, 3, 8, 1}}, [](const std::vector<Value>& in) {
          ops::MaxPool(in[0], {.ksize = {4, 2}});
        }) == "MaxPool 'MaxPool': a window of 4x2 does not fit into an image of 3x8");
}

TEST_CASE("matrices and biases that do not fit are named") {
  CHECK(Refusal({{32, 128}, {64, 10}}, [](const std::vector<Value>& in) {
          ops::MatMul(in[0], in[1], {}, "logits");
        }) == "MatMul 'logits': [32,128] times [64,10]: inner sizes differ");
  CHECK(Refusal({{32, 128}, {64, 10}}, [](const std::vector<Value>& in) {
          ops::MatMul(in[0], in[1], {.transpose_b = true});
        }) == "MatMul 'MatMul': [32,128] times [64,10] transposed: inner sizes differ");
  CHECK(Refusal({{32, 128}, {64}}, [](const std::vector<Value>& in) {
          ops::BiasAdd(in[0], in[1]);
        }) == "BiasAdd 'BiasAdd': the last axis of [32,128] has size 128, but the bias has 64");
}

TEST_CASE("logits and labels that do not fit are named") {
  CHECK(Refusal({{32, 10}, {32, 9}},
                [](const std::vector<Value>& in) {
                  ops::SoftmaxCrossEntropyWithLogits(in[0], in[1]);
                }) ==
        "SoftmaxCrossEntropyWithLogits 'SoftmaxCrossEntropyWithLogits': logits are [32,10] and "
        "labels [32,9]");
  CHECK(Refusal({{32, 10}},
                [](const std::vector<Value>& in) {
                  ops::SparseSoftmaxCrossEntropyWithLogits(
                      in[0], in[0].graph().Placeholder(DType::kInt32, {31}, "labels"));
                }) ==
        "SparseSoftmaxCrossEntropyWithLogits 'SparseSoftmaxCrossEntropyWithLogits': logits are "
        "[32,10] and labels [31]: the number of rows differs");
}

TEST_CASE("statistics of other channels than the image's are named") {
  CHECK(Refusal({{2, 5, 5, 3}, {4}}, [](const std::vector<Value>& in) {
          ops::FusedBatchNormV3(in[0], in[1], in[1], in[1], in[1]);
        }) == "FusedBatchNormV3 'FusedBatchNormV3': the image has 3 channels, but scale is [4]");
}

TEST_CASE("a gradient that cannot be differentiated again says so") {
  CHECK(Refusal({{2, 4, 4, 1}, {2, 2, 2, 1}}, [](const std::vector<Value>& in) {
          const Value y = ops::MaxPool(in[0]);
          const Value dx = ops::MaxPoolGrad(in[0], y, in[1], {}, "dx");
          (void)Gradients(ops::Sum(dx), std::vector<Value>{in[1]});
        }) == "MaxPoolGrad 'dx': a gradient of this gradient is not available");
}

TEST_CASE("a result without elements takes no memory, however long its other dimensions are") {
  constexpr int64_t kHeight = int64_t{1} << 30;
  Graph graph(TestRegistry());
  const Value fed = graph.Placeholder(DType::kFloat, {0, 5, 5, 3}, "x");
  const Value constant = graph.Constant(Tensor(DType::kFloat, {0, 5, 5, 3}));
  const std::vector<Value> fetches = {ops::ResizeBilinear(fed, kHeight, 1),
                                      ops::ResizeBilinear(constant, kHeight, 1)};
  VariableStore variables;
  const ProgramSpec spec{&graph, {{fed, {0, 5, 5, 3}, false}}, fetches, {}, {}};
  const auto program = MakeCpuBackend()->Compile(spec, {}, variables);
  const std::vector<StepFeeds> feeds = {{{Tensor(DType::kFloat, {0, 5, 5, 3})}}};
  const StepResult step = program->Run(feeds)[0];
  for (const std::vector<Tensor>& result : step.fetches) {
    CHECK(result[0].shape() == Shape({0, kHeight, 1, 3}));
  }
}

TEST_CASE("an image that cannot be resized, or moved, is refused") {
  const auto resize = [](const Shapes& shapes, int64_t side, const ops::ResizeOptions& options) {
    return Refusal(shapes, [&](const std::vector<Value>& in) {
      ops::ResizeBilinear(in[0], side, side, options);
    });
  };
  CHECK(resize({{5, 5, 3}}, 4, {}) ==
        "ResizeBilinear 'ResizeBilinear': the image [N, H, W, C] must have rank 4, found [5,5,3]");
  CHECK(resize({{1, 5, 5, 3}}, 0, {}) ==
        "ResizeBilinear 'ResizeBilinear': the size is [0,0], expected positive numbers");
  CHECK(resize({{1, 5, 0, 3}}, 2, {}) ==
        "ResizeBilinear 'ResizeBilinear': the image [1,5,0,3] has no pixels");
  CHECK(resize({{1, 5, 5, 3}}, 2, {.align_corners = true}) ==
        "ResizeBilinear 'ResizeBilinear': align_corners and half_pixel_centers exclude each other");
  const auto move = [](const Shapes& shapes, const ops::ProjectiveOptions& options) {
    return Refusal(shapes, [&](const std::vector<Value>& in) {
      ops::ImageProjectiveTransformV3(in[0], in[1], 4, 4, options);
    });
  };
  const std::string op = "ImageProjectiveTransformV3 'ImageProjectiveTransformV3': ";
  CHECK(move({{2, 5, 5, 3}, {3, 8}}, {}) ==
        op + "the transforms are [3,8], expected eight numbers per image of [2,5,5,3]");
  CHECK(move({{2, 5, 5, 3}, {2, 8}}, {.fill_mode = "MIRROR"}) ==
        op + "fill_mode is 'MIRROR', expected REFLECT, WRAP, CONSTANT or NEAREST");
  CHECK(move({{2, 5, 5, 3}, {2, 8}}, {.interpolation = "BICUBIC"}) ==
        op + "interpolation is 'BICUBIC', expected NEAREST or BILINEAR");
}

}  // namespace
}  // namespace tpuest
