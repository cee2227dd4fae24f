// Batch normalisation fused with its neighbours: the remaining nodes, and equal results of a step.

#include "core/backend/cpu/norm_fusion.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/backend/cpu/fusion.h"
#include "core/backend/cpu/program.h"
#include "core/ops/activation.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/batch_norm.h"
#include "core/ops/conv.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest {
namespace {

constexpr int64_t kImages = 70;  // two blocks

Tensor Uneven(const Shape& shape, int64_t seed) {
  Tensor tensor(DType::kFloat, shape);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i + seed) * 7919 % 1009 - 504) / 100;
  }
  return tensor;
}

// Normalises images in training; computes the gradients of scale and offset.
struct NormNet {
  OpRegistry registry{ops::AllOps()};
  Graph graph{registry};
  Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4, 4, 20}, "x");
  Value scale = graph.Placeholder(DType::kFloat, {20}, "scale");
  Value offset = graph.Placeholder(DType::kFloat, {20}, "offset");
  std::vector<Value> fetches;

  Value Normalised() {
    const Value none = ops::Zeros(graph, DType::kFloat, Shape{0}, "empty");
    const ops::BatchNormResult norm = ops::FusedBatchNormV3(x, scale, offset, none, none);
    fetches.push_back(norm.batch_mean);
    fetches.push_back(norm.batch_variance);
    return norm.y;
  }
  void Differentiate(Value y) {
    const Value loss = ops::Sum(ops::Mul(y, ops::Square(y)));
    fetches.push_back(loss);
    const std::vector<Value> arguments = {x, scale, offset};
    for (const Gradient& gradient : Gradients(loss, arguments)) {
      fetches.push_back(std::get<Value>(gradient));
    }
  }
  [[nodiscard]] ProgramSpec Spec() const {
    return {.graph = &graph,
            .feeds = {{.placeholder = x, .shape = {kImages, 4, 4, 20}, .cut = true},
                      {.placeholder = scale, .shape = {20}, .cut = false},
                      {.placeholder = offset, .shape = {20}, .cut = false}},
            .fetches = fetches};
  }
  [[nodiscard]] int Count(std::string_view type) const {
    const BoundGraph fused = Fused(BindGraph(Spec()));
    const auto& nodes = fused.graph->nodes();
    return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                          [&](const auto& node) { return node->type() == type; }));
  }
  [[nodiscard]] std::vector<Tensor> Run(bool fuse) const {
    VariableStore none;
    const auto program = MakeCpuBackend()->Compile(Spec(), {.threads = 2, .fuse = fuse}, none);
    const StepFeeds feeds = {
        {Uneven({kImages, 4, 4, 20}, 1)}, {Uneven({20}, 2)}, {Uneven({20}, 3)}};
    const std::vector<StepFeeds> steps = {feeds};
    std::vector<Tensor> results;
    const std::vector<StepResult> run = program->Run(steps);
    for (const auto& fetch : run[0].fetches) results.push_back(fetch[0]);
    return results;
  }
  void CheckClose() const {
    const std::vector<Tensor> plain = Run(false);
    const std::vector<Tensor> fused = Run(true);
    REQUIRE(plain.size() == fused.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      CAPTURE(i);
      double largest = 0;
      double apart = 0;
      for (int64_t e = 0; e < plain[i].elements(); ++e) {
        largest = std::max(largest, std::abs(plain[i].AsDouble(e)));
        apart = std::max(apart, std::abs(plain[i].AsDouble(e) - fused[i].AsDouble(e)));
      }
      CHECK(largest > 0);
      CHECK(apart <= 1e-5 * largest);
    }
  }
};

}  // namespace

TEST_CASE("a normalisation and its ReLU are one pass, forward and backward") {
  for (const bool six : {false, true}) {
    NormNet net;
    const Value y = net.Normalised();
    net.Differentiate(six ? ops::Relu6(y) : ops::Relu(y));
    CHECK(net.Count("_BatchNormMoments") == 1);
    CHECK(net.Count("_FusedBatchNormApply") == 1);
    CHECK(net.Count("_FusedBatchNormGradSums") == 1);
    CHECK(net.Count("_FusedBatchNormGradApply") == 1);
    for (const char* const gone :
         {"_BatchNormSum", "_BatchNormCenteredSquareSum", "_BatchNormApply", "_BatchNormGradSums",
          "_BatchNormGradApply", "Relu", "Relu6", "ReluGrad", "Relu6Grad"}) {
      CAPTURE(gone);
      CHECK(net.Count(gone) == 0);
    }
    net.CheckClose();
  }
}

TEST_CASE("an addition is fused with the normalisation and the ReLU after it") {
  for (const bool relu : {false, true}) {
    NormNet net;
    const Value sum = ops::AddV2(net.x, net.Normalised());
    net.Differentiate(relu ? ops::Relu(sum) : sum);
    CHECK(net.Count("_FusedBatchNormAdd") == 1);
    CHECK(net.Count("AddV2") + net.Count("Relu") + net.Count("_BatchNormApply") == 0);
    CHECK(net.Count("ReluGrad") == (relu ? 1 : 0));  // the other branch also reads it
    net.CheckClose();
  }
}

TEST_CASE("what somebody else reads stays") {
  NormNet net;
  const Value y = net.Normalised();
  net.fetches.push_back(y);
  net.Differentiate(ops::Relu(y));
  CHECK(net.Count("Relu") == 1);
  CHECK(net.Count("ReluGrad") == 1);
  CHECK(net.Count("_FusedBatchNormApply") == 1);
  net.CheckClose();
}

}  // namespace tpuest
