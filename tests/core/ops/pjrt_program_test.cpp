// Programs on XLA's CPU plugin: several steps per call, variables that stay on the device, a guard.

#include <doctest/doctest.h>

#include <cmath>

#include "core/backend/cpu/program.h"
#include "core/backend/pjrt/program.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "core/ops/training.h"
#include "tests/core/ops/op_checks.h"
#include "tests/cpu_plugin.h"

namespace tpuest {
namespace {

constexpr int kReplicas = 2;
constexpr float kRate = 0.5F;

// loss = mean(x * w); w -= rate * d, where d is the mean over the batch of x, or of sqrt(x), whose
// loss stays finite where the gradient is not.
struct Model {
  Graph graph{TestRegistry()};
  Value x = graph.Placeholder(DType::kFloat, {kUnknownDim}, "x");
  Variable* w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(1.0F));
  Variable* step = graph.AddVariable("global_step", DType::kInt64, {}, graph.Scalar<int64_t>(0));
  Value loss = ops::Mean(ops::Mul(x, w->value), {0});
  Value unread = graph.Placeholder(DType::kString, {kUnknownDim}, "unread");
  Node* update = nullptr;
  Node* count = nullptr;

  explicit Model(bool inverse = false) {
    const Value mean = ops::Mean(inverse ? ops::Reciprocal(x) : x, {0});
    const Value grad = ops::Mul(ops::CrossReplicaSum(mean, kReplicas),
                                graph.Scalar(1.0F / static_cast<float>(kReplicas)));
    update = ops::ResourceApplyGradientDescent(w->handle, graph.Scalar(kRate), grad);
    count = ops::AssignAddVariableOp(step->handle, graph.Scalar<int64_t>(1));
  }
  [[nodiscard]] ProgramSpec Spec() const {
    return {.graph = &graph,
            .feeds = {{unread, {2}}, {x, {2}}},
            .fetches = {loss},
            .targets = {update, count},
            .guard = loss};
  }
};

StepFeeds FeedsOf(float first) {
  const Tensor text = Tensor::Strings({2}, {"a", "b"});
  return {{text, text},
          {Tensor::Of<float>({2}, {first, 1}), Tensor::Of<float>({2}, {first + 1, 1})}};
}

struct Device {
  std::unique_ptr<PjrtClient> client = LoadPjrtPlugin(CpuPlugin(), kReplicas);
  std::unique_ptr<Backend> backend = MakePjrtBackend(*client);
};

VariableStore Start() {
  VariableStore variables;
  variables.Set("w", Tensor::Scalar(1.0F));
  variables.Set("global_step", Tensor::Scalar<int64_t>(0));
  return variables;
}

float W(const VariableStore& variables) { return *variables.Get("w").data<float>(); }
int64_t StepOf(const VariableStore& variables) {
  return *variables.Get("global_step").data<int64_t>();
}
float Loss(const StepResult& result, size_t replica) {
  return *result.fetches[0][replica].data<float>();
}

TEST_CASE("steps run in stacks and a rest, and give what the engine gives") {
  const Model model;
  const std::vector<StepFeeds> feeds = {FeedsOf(1), FeedsOf(2), FeedsOf(3), FeedsOf(4), FeedsOf(5)};
  VariableStore here = Start();
  const auto expected =
      MakeCpuBackend()->Compile(model.Spec(), {.replicas = kReplicas}, here)->Run(feeds);
  const Device device;
  // Two steps of [2] floats fit into 16 bytes.
  for (const int64_t staging_bytes : {1, 16, 1000}) {
    VariableStore there = Start();
    const auto program = device.backend->Compile(
        model.Spec(),
        {.replicas = kReplicas, .steps_per_call = 4, .device = {.staging_bytes = staging_bytes}},
        there);
    CHECK(program->steps_per_call() == (staging_bytes == 1 ? 1 : staging_bytes == 16 ? 2 : 4));
    const auto found = program->Run(feeds);
    REQUIRE(found.size() == feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
      CHECK(found[i].applied);
      for (size_t replica = 0; replica < kReplicas; ++replica) {
        CHECK(Loss(found[i], replica) == doctest::Approx(Loss(expected[i], replica)));
      }
    }
    CHECK(W(there) == doctest::Approx(W(here)));
    CHECK(StepOf(there) == 5);
  }
}

TEST_CASE("variables stay on the device, are read and are set") {
  const Model model;
  const Device device;
  VariableStore variables = Start();
  const auto program = device.backend->Compile(
      model.Spec(), {.replicas = kReplicas, .steps_per_call = 2}, variables);
  const std::vector<StepFeeds> one = {FeedsOf(1)};
  (void)program->Run(one);
  // The mean of 1, 1, 2, 1 is 1.25.
  CHECK(W(variables) == 1 - kRate * 1.25F);
  (void)program->Run(one);
  CHECK(StepOf(variables) == 2);
  variables.Set("w", Tensor::Scalar(10.0F));
  (void)program->Run(one);
  CHECK(W(variables) == 10 - kRate * 1.25F);
  CHECK(StepOf(variables) == 3);
  // A host program sees the device's results, and the device sees the host program's.
  (void)program->Run(one);
  const auto host = MakeCpuBackend()->Compile(model.Spec(), {.replicas = kReplicas}, variables);
  CHECK(Loss(host->Run(one)[0], 0) == 10 - 2 * kRate * 1.25F);
  CHECK(Loss(program->Run(one)[0], 0) == 10 - 3 * kRate * 1.25F);
  CHECK(StepOf(variables) == 6);
}

TEST_CASE("a loss that is not finite on one replica keeps the variables and ends the run") {
  const Model model;
  const Device device;
  VariableStore variables = Start();
  const auto program = device.backend->Compile(
      model.Spec(), {.replicas = kReplicas, .steps_per_call = 8}, variables);
  StepFeeds bad = FeedsOf(1);
  bad[1][1] = Tensor::Of<float>({2}, {NAN, 1});
  const auto results =
      program->Run(std::vector<StepFeeds>{FeedsOf(1), bad, FeedsOf(1), FeedsOf(1)});
  REQUIRE(results.size() == 2);
  CHECK(results[0].applied);
  CHECK_FALSE(results[1].applied);
  CHECK(std::isnan(Loss(results[1], 1)));
  CHECK(W(variables) == 1 - kRate * 1.25F);
  CHECK(StepOf(variables) == 1);
}

TEST_CASE("a gradient that is not finite keeps the variables where the loss is finite") {
  const Model model(/*inverse=*/true);
  const Device device;
  VariableStore variables = Start();
  const auto program = device.backend->Compile(
      model.Spec(), {.replicas = kReplicas, .steps_per_call = 8}, variables);
  const auto results = program->Run(std::vector<StepFeeds>{FeedsOf(1), FeedsOf(0), FeedsOf(1)});
  REQUIRE(results.size() == 2);
  CHECK_FALSE(results[1].applied);
  CHECK(std::isfinite(Loss(results[1], 0)));
  CHECK(StepOf(variables) == 1);
}

TEST_CASE("a run on more replicas than the plugin has devices is refused") {
  const Model model;
  const Device device;
  VariableStore variables = Start();
  CHECK_THROWS_WITH_AS((void)device.backend->Compile(model.Spec(), {.replicas = 3}, variables),
                       doctest::Contains("num_replicas should be at most (2), got (3)"), Error);
}

}  // namespace
}  // namespace tpuest
