// A fused program computes the same function. Numbers are small integers here, so that sums are
// exact in any order and the results must have the same bits.

#include "core/backend/cpu/fusion.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/backend/schedule.h"
#include "core/ops/activation.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/conv.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/pool.h"
#include "core/ops/reduction.h"
#include "core/ops/training.h"

namespace tpuest {
namespace {

constexpr int64_t kRows = 70;  // two blocks

// -1, 0, 1 in an irregular order.
Tensor Numbers(const Shape& shape, int64_t seed) {
  Tensor tensor(DType::kFloat, shape);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i * i * 7 + i * 5 + seed) % 11 % 3 - 1);
  }
  return tensor;
}

// A product, a bias, and further ops; trained by gradient descent on the sum of squares.
struct Net {
  OpRegistry registry{ops::AllOps()};
  Graph graph{registry};
  VariableStore variables;
  Value x;
  Value product;
  Value biased;
  Value activated;
  Value pooled;
  std::vector<Value> fetches;
  std::vector<Node*> updates;

  Value Weight(const std::string& name, const Shape& shape) {
    const Tensor start = Numbers(shape, static_cast<int64_t>(name.size()));
    variables.Set(name, start);
    return graph.AddVariable(name, DType::kFloat, shape, graph.Constant(start))->value;
  }

  void Conv() {
    x = graph.Placeholder(DType::kFloat, {kUnknownDim, 6, 6, 2}, "x");
    product = ops::Conv2D(x, Weight("kernel", {3, 3, 2, 4}));
    biased = ops::BiasAdd(product, Weight("bias", {4}));
  }
  void Dense() {
    x = graph.Placeholder(DType::kFloat, {kUnknownDim, 5}, "x");
    product = ops::MatMul(x, Weight("kernel", {5, 3}));
    biased = ops::BiasAdd(product, Weight("bias", {3}));
  }
  void Relu() { activated = ops::Relu(biased); }
  void Pool(Value of, const ops::PoolOptions& options = {}) { pooled = ops::MaxPool(of, options); }

  void Train(Value y) {
    const Value loss = ops::Sum(ops::Mul(y, y));
    fetches.push_back(y);
    fetches.push_back(loss);
    std::vector<Value> weights;
    for (const auto& variable : graph.variables()) weights.push_back(variable->value);
    const std::vector<Gradient> gradients = Gradients(loss, weights);
    const Value rate = graph.Scalar(0.5F);
    for (size_t i = 0; i < weights.size(); ++i) {
      updates.push_back(ops::ResourceApplyGradientDescent(graph.variables()[i]->handle, rate,
                                                          std::get<Value>(gradients[i])));
    }
  }

  [[nodiscard]] ProgramSpec Spec() const {
    Shape shape = x.shape();
    shape.set_dim(0, kRows);
    return {.graph = &graph, .feeds = {{x, shape}}, .fetches = fetches, .targets = updates};
  }

  // Counts nodes of a type among those of the fused program that a fetch needs.
  [[nodiscard]] int Count(std::string_view type) const {
    const BoundGraph fused = Fused(BindGraph(Spec()));
    const auto& nodes = fused.graph->nodes();
    return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                          [&](const auto& node) { return node->type() == type; }));
  }

  // One step: the fetches, then the variables.
  std::vector<Tensor> Run(bool fuse, const Tensor& input) const {
    VariableStore own;
    for (const auto& [name, value] : variables.tensors()) own.Set(name, value);
    const auto program = MakeCpuBackend()->Compile(Spec(), {.threads = 2, .fuse = fuse}, own);
    std::vector<Tensor> results;
    const std::vector<StepFeeds> steps = {{{input}}};
    const std::vector<StepResult> run = program->Run(steps);
    for (const auto& fetch : run[0].fetches) results.push_back(fetch[0]);
    for (const auto& [name, value] : own.tensors()) results.push_back(value.Clone());
    return results;
  }

  void CheckSame() const {
    Shape shape = x.shape();
    shape.set_dim(0, kRows);
    CheckSame(Numbers(shape, 3));
  }
  void CheckSame(const Tensor& input) const {
    const std::vector<Tensor> plain = Run(false, input);
    const std::vector<Tensor> fused = Run(true, input);
    REQUIRE(plain.size() == fused.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      CAPTURE(i);
      const auto a = plain[i].values<float>();
      const auto b = fused[i].values<float>();
      REQUIRE(a.size() == b.size());
      CHECK(std::equal(a.begin(), a.end(), b.begin(),
                       [](float p, float q) { return p == q || (p != p && q != q); }));
    }
  }
};

}  // namespace

TEST_CASE("rows that take many operations are cut into smaller blocks") {
  const auto blocks = [](int64_t columns) {
    OpRegistry registry{ops::AllOps()};
    Graph graph{registry};
    const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 8192}, "x");
    const Value w = graph.Placeholder(DType::kFloat, {8192, columns}, "w");
    const ProgramSpec spec = {.graph = &graph,
                              .feeds = {{.placeholder = x, .shape = {40, 8192}},
                                        {.placeholder = w, .shape = {8192, columns}, .cut = false}},
                              .fetches = {ops::MatMul(x, w)}};
    return ScheduleGraph(BindGraph(spec), {.cut_feeds = {true, false}}).blocks;
  };
  CHECK(blocks(8191) == 1);
  CHECK(blocks(8192) == 3);  // 2 * 8192 * 8192 operations per row
}

TEST_CASE("convolution, bias and ReLU are one, and the gradients of filter and bias") {
  Net net;
  net.Conv();
  net.Relu();
  net.Train(net.activated);
  CHECK(net.Count("_FusedConv2D") == 1);
  CHECK(net.Count("Conv2D") + net.Count("BiasAdd") + net.Count("Relu") == 0);
  CHECK(net.Count("_Conv2DBackpropFilterBias") == 1);
  CHECK(net.Count("Conv2DBackpropFilter") + net.Count("BiasAddGrad") == 0);
  net.CheckSame();
}

TEST_CASE("convolution and bias are one without ReLU") {
  Net net;
  net.Conv();
  net.Train(net.biased);
  CHECK(net.Count("_FusedConv2D") == 1);
  net.CheckSame();
}

TEST_CASE("matrix product and bias are one, with and without ReLU") {
  for (const bool relu : {false, true}) {
    Net net;
    net.Dense();
    net.Relu();
    net.Train(relu ? net.activated : net.biased);
    CHECK(net.Count("_FusedMatMul") == 1);
    CHECK(net.Count("BiasAdd") == 0);
    net.CheckSame();
  }
}

TEST_CASE("ReLU moves after the pool, forwards and backwards") {
  Net net;
  net.Conv();
  net.Relu();
  net.Pool(net.activated);
  net.Train(net.pooled);
  CHECK(net.Count("_FusedMaxPool") == 1);
  CHECK(net.Count("Relu") + net.Count("MaxPool") == 0);
  // Both gradients of the parameters read the gate's result.
  const BoundGraph fused = Fused(BindGraph(net.Spec()));
  for (const auto& node : fused.graph->nodes()) {
    if (node->type() == "ReluGrad") CHECK(node->output_shape(0).dim(1) == 3);
    if (node->type() == "BiasAddGrad") CHECK(node->input(0).node->type() == "ReluGrad");
    if (node->type() == "MaxPoolGrad") CHECK(node->input(2).node->type() == "ReluGrad");
  }
  net.CheckSame();
}

TEST_CASE("windows that overlap or hang over the edge give the same gradients") {
  for (const char* const padding : {"SAME", "VALID"}) {
    Net net;
    net.Conv();
    net.Relu();
    net.Pool(net.activated, {.ksize = {3, 3}, .strides = {2, 2}, .padding = padding});
    net.Train(net.pooled);
    CHECK(net.Count("_FusedMaxPool") == 1);
    net.CheckSame();
  }
}

TEST_CASE("a pool of ReLU without gradients is one") {
  Net net;
  net.Conv();
  net.Relu();
  net.Pool(net.activated);
  net.fetches = {net.pooled};
  CHECK(net.Count("_FusedMaxPool") == 1);
  CHECK(net.Count("_FusedConv2D") == 1);
  net.CheckSame();
}

TEST_CASE("NaN is not lost after the pool") {
  Net net;
  net.Conv();
  net.Relu();
  net.Pool(net.activated);
  net.Train(net.pooled);
  Tensor input = Numbers({kRows, 6, 6, 2}, 3);
  input.data<float>()[100] = std::numeric_limits<float>::quiet_NaN();
  net.CheckSame(input);
}

TEST_CASE("what is fetched on the way stays") {
  Net net;
  net.Conv();
  net.Relu();
  net.Pool(net.activated);
  net.Train(net.pooled);
  SUBCASE("the product") {
    net.fetches.push_back(net.product);
    CHECK(net.Count("Conv2D") == 1);
    CHECK(net.Count("_FusedConv2D") == 0);
  }
  SUBCASE("with its bias") {
    net.fetches.push_back(net.biased);
    CHECK(net.Count("_FusedConv2D") == 1);
  }
  SUBCASE("the ReLU") {
    net.fetches.push_back(net.activated);
    CHECK(net.Count("_FusedMaxPool") == 0);
    CHECK(net.Count("_FusedConv2D") == 1);
  }
  net.CheckSame();
}

TEST_CASE("nothing is fused that another node reads") {
  Net net;
  net.Conv();
  net.Relu();
  net.Pool(net.activated);
  SUBCASE("the product") {
    net.Train(ops::AddV2(ops::Sum(net.product), ops::Sum(net.pooled)));
    CHECK(net.Count("Conv2D") == 1);
    CHECK(net.Count("_FusedConv2D") == 0);
  }
  SUBCASE("the ReLU") {
    net.Train(ops::AddV2(ops::Sum(net.activated), ops::Sum(net.pooled)));
    CHECK(net.Count("_FusedMaxPool") == 0);
    CHECK(net.Count("MaxPool") == 1);
  }
  net.CheckSame();
}

TEST_CASE("a graph without a pattern is not copied") {
  Net net;
  net.Dense();
  net.fetches = {net.product};
  BoundGraph bound = BindGraph(net.Spec());
  const Graph* const before = bound.graph.get();
  const BoundGraph fused = Fused(std::move(bound));
  CHECK(fused.graph.get() == before);
  CHECK(fused.fetches.front().node->type() == "MatMul");
}

TEST_CASE("the shape of what was fused away still counts the rows of the batch") {
  Net net;
  net.Conv();
  net.Relu();
  net.Pool(net.activated);
  // [70, 6, 6, 4], known once the program is bound.
  const Value ones = net.graph.Add("Fill", {ops::ShapeOf(net.product), net.graph.Scalar(1.0F)});
  net.Train(ops::AddV2(ops::Sum(ones), ops::Sum(net.pooled)));
  CHECK(net.Count("_FusedConv2D") == 1);
  net.CheckSame();
}

}  // namespace tpuest
