// Floating-point operations, counted by hand.

#include "core/graph/flops.h"

#include <doctest/doctest.h>

#include "core/graph/gradient.h"
#include "core/ops/activation.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/conv.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/reduction.h"

namespace tpuest {
namespace {

class FlopsGraph {
 public:
  Graph& graph() { return graph_; }
  Value Input(const Shape& shape, DType dtype = DType::kFloat) {
    return graph_.Placeholder(dtype, shape, "x");
  }
  // The total of all nodes of a type.
  int64_t Of(std::string_view type) const {
    int64_t flops = 0;
    for (const auto& node : graph_.nodes()) {
      if (node->type() == type) flops += FlopsOf(*node);
    }
    return flops;
  }

 private:
  OpRegistry registry_{ops::AllOps()};
  Graph graph_{registry_};
};

TEST_CASE("a dense layer of 784 to 128 multiplies and adds for each row, forward and back") {
  FlopsGraph g;
  const Value x = g.Input({32, 784});
  const Value kernel = g.Input({784, 128});
  const Value bias = g.Input({128});
  const Value y = ops::Relu(ops::BiasAdd(ops::MatMul(x, kernel), bias));
  CHECK(g.Of("MatMul") == 2 * 32 * 784 * 128);
  CHECK(g.Of("MatMul") == 6422528);
  CHECK(g.Of("BiasAdd") == 32 * 128);
  CHECK(g.Of("Relu") == 32 * 128);
  CHECK(g.Of("Placeholder") == 0);

  const Value xs[] = {x, kernel, bias};
  (void)Gradients(ops::Sum(y), xs);
  CHECK(g.Of("Sum") == 32 * 128);
  CHECK(g.Of("MatMul") == 3 * 6422528);  // dx and dkernel cost what y does
  CHECK(g.Of("BiasAddGrad") == 32 * 128);
  CHECK(g.Of("ReluGrad") == 32 * 128);
  CHECK(g.Of("Reshape") + g.Of("BroadcastTo") == 0);
}

TEST_CASE(
    "a convolution multiplies and adds for each place of its result and number of its filter") {
  FlopsGraph g;
  const Value x = g.Input({2, 5, 5, 3});
  const Value filter = g.Input({3, 3, 3, 4});
  const Value y = ops::Conv2D(x, filter, {.strides = {2, 2}, .padding = "SAME"});
  REQUIRE(y.shape() == Shape{2, 3, 3, 4});
  CHECK(g.Of("Conv2D") == 2 * (2 * 3 * 3) * (3 * 3 * 3 * 4));
  CHECK(g.Of("Conv2D") == 3888);

  const Value xs[] = {x, filter};
  (void)Gradients(ops::Sum(y), xs);
  CHECK(g.Of("Conv2DBackpropInput") == 3888);
  CHECK(g.Of("Conv2DBackpropFilter") == 3888);
}

TEST_CASE("a depthwise convolution sees one channel at a time") {
  FlopsGraph g;
  const Value x = g.Input({2, 5, 5, 3});
  const Value y =
      ops::DepthwiseConv2dNative(x, g.Input({3, 3, 3, 2}), {.strides = {1, 1}, .padding = "SAME"});
  REQUIRE(y.shape() == Shape{2, 5, 5, 6});
  CHECK(g.Of("DepthwiseConv2dNative") == 2 * (2 * 5 * 5 * 6) * (3 * 3));
}

TEST_CASE(
    "whole numbers, choices and moves cost nothing, and what only the data knows counts once") {
  FlopsGraph g;
  const Value lists = g.Input({8, kUnknownDim, 16});
  CHECK(FlopsOf(*ops::Mul(lists, lists).node) == 8 * 16);
  CHECK(FlopsOf(*ops::Sum(lists, {1}).node) == 8 * 16);
  const Value ids = g.Input({8}, DType::kInt32);
  CHECK(FlopsOf(*ops::AddV2(ids, ids).node) == 0);
  CHECK(FlopsOf(*ops::Equal(ids, ids).node) == 0);
  CHECK(FlopsOf(*ops::ExpandDims(lists, 0).node) == 0);
  CHECK(CountedElements(Shape::UnknownRank()) == 1);
}

}  // namespace
}  // namespace tpuest
