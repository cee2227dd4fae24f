// A network trains on XLA's CPU plugin as it does on the CPU engine: the same masks of dropout, and
// losses and variables that differ by rounding alone.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/backend/cpu/program.h"
#include "core/backend/pjrt/program.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/kernels/isa/cpu_isa.h"
#include "core/ops/all_ops.h"
#include "models/zoo.h"
#include "tests/cpu_plugin.h"

namespace tpuest::models {
namespace {

constexpr int kReplicas = 8;
constexpr int64_t kRows = 4;  // of a replica
constexpr uint64_t kSeed = 7;

struct Network {
  explicit Network(const std::string& precision)
      : registry(ops::AllOps()), graph(std::make_unique<Graph>(registry)) {
    graph->AddVariable("global_step", DType::kInt64, {}, graph->Scalar<int64_t>(0));
    image = graph->Placeholder(DType::kFloat, {kUnknownDim, 784}, "image");
    label = graph->Placeholder(DType::kInt32, {kUnknownDim}, "label");
    const JobContext context{.optimizer = nn::GradientDescentOptimizer{.learning_rate = 0.01}};
    model = MakeModelFn(MnistCnn{.precision = precision}, context)(
        *graph, {.features = {{"image", image}}, .labels = label}, Mode::kTrain,
        {.use_tpu = true, .replicas = kReplicas});
    for (const auto& node : graph->nodes()) {
      if (node->type() == "GreaterEqual" && node->name().starts_with("dropout/")) {
        mask = node->output(0);
      }
    }
    REQUIRE(mask.valid());
  }
  [[nodiscard]] ProgramSpec Spec() const {
    return {.graph = graph.get(),
            .feeds = {{image, {kRows, 784}}, {label, {kRows}}},
            .fetches = {model.loss, mask},
            .targets = {model.train_op},
            .guard = model.loss};
  }

  OpRegistry registry;
  std::unique_ptr<Graph> graph;
  Value image, label, mask;
  TPUEstimatorSpec model;
};

// Noise, brighter in the row that tells the class.
StepFeeds FeedsOf(int64_t step) {
  StepFeeds feeds(2);
  for (int64_t replica = 0; replica < kReplicas; ++replica) {
    Tensor images(DType::kFloat, {kRows, 784});
    Tensor labels(DType::kInt32, {kRows});
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t example = (step * kReplicas + replica) * kRows + row;
      labels.data<int32_t>()[row] = static_cast<int32_t>(example % 10);
      for (int64_t i = 0; i < 784; ++i) {
        const bool bright = i / 56 == example % 10;
        images.data<float>()[row * 784 + i] =
            static_cast<float>((example * 31 + i * i * 17) % 101) / 200 + (bright ? 0.5F : 0.0F);
      }
    }
    feeds[0].push_back(images);
    feeds[1].push_back(labels);
  }
  return feeds;
}

struct Run {
  std::vector<StepResult> steps;
  std::map<std::string, Tensor> variables;

  [[nodiscard]] double Loss(size_t step) const {
    double sum = 0;
    for (const Tensor& loss : steps[step].fetches[0]) sum += loss.AsDouble(0);
    return sum / kReplicas;
  }
};

Run Train(const Network& network, Backend& backend, const VariableStore& start, int64_t steps) {
  VariableStore variables;
  for (const auto& [name, value] : start.tensors()) variables.Set(name, value);
  const auto program = backend.Compile(
      network.Spec(), {.replicas = kReplicas, .threads = 2, .seed = kSeed, .steps_per_call = 8},
      variables);
  std::vector<StepFeeds> feeds;
  for (int64_t step = 0; step < steps; ++step) feeds.push_back(FeedsOf(step));
  Run run{.steps = program->Run(feeds)};
  for (const auto& [name, value] : variables.tensors()) run.variables[name] = value.Clone();
  return run;
}

double LargestDifference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    largest = std::max(largest, std::abs(a.AsDouble(i) - b.AsDouble(i)));
  }
  return largest;
}

// Of the largest value, as float: nothing nearer can be asked of what is stored.
double LastBit(const Tensor& tensor) {
  float largest = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    largest = std::max(largest, static_cast<float>(std::abs(tensor.AsDouble(i))));
  }
  return static_cast<double>(std::nextafter(largest, INFINITY)) - static_cast<double>(largest);
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  const auto* const bytes = static_cast<const char*>(a.raw());
  return a.bytes() == b.bytes() &&
         std::equal(bytes, bytes + a.bytes(), static_cast<const char*>(b.raw()));
}

struct Both {
  explicit Both(const std::string& precision)
      : network(precision), client(LoadPjrtPlugin(CpuPlugin(), kReplicas)) {
    InitializeVariables(*engine, *network.graph, Which::kAll, kSeed, start);
  }
  [[nodiscard]] std::pair<Run, Run> Train(int64_t steps) {
    return {models::Train(network, *engine, start, steps),
            models::Train(network, *device, start, steps)};
  }

  Network network;
  VariableStore start;
  std::unique_ptr<Backend> engine = MakeCpuBackend();
  std::unique_ptr<PjrtClient> client;
  std::unique_ptr<Backend> device = MakePjrtBackend(*client);
};

}  // namespace

TEST_CASE("a step on a device changes every variable as the engine's does") {
  Both both("float32");
  const auto [engine, device] = both.Train(1);
  REQUIRE(device.variables.size() == engine.variables.size());
  for (const auto& entry : engine.variables) {
    const auto& [name, value] = entry;
    INFO(entry.first);
    const double change = LargestDifference(value, both.start.Get(name));
    CHECK(change > 0);
    CHECK(LargestDifference(device.variables.at(name), value) <= 1e-5 * change + LastBit(value));
  }
}

TEST_CASE("twenty steps on a device have the engine's masks and losses") {
  Both both("float32");
  const auto [engine, device] = both.Train(20);
  REQUIRE(device.steps.size() == 20);
  for (size_t step = 0; step < 20; ++step) {
    INFO("step ", step);
    CHECK(device.Loss(step) == doctest::Approx(engine.Loss(step)).epsilon(1e-4));
    for (size_t replica = 0; replica < kReplicas; ++replica) {
      CHECK(SameBytes(device.steps[step].fetches[1][replica],
                      engine.steps[step].fetches[1][replica]));
    }
  }
  CHECK_FALSE(SameBytes(device.steps[0].fetches[1][0], device.steps[1].fetches[1][0]));
  CHECK_FALSE(SameBytes(device.steps[0].fetches[1][0], device.steps[0].fetches[1][1]));
}

TEST_CASE("twenty steps in bfloat16 on a device have the engine's losses to a hundredth") {
  if (!ChosenCpuIsa().bfloat16) return;  // there is no engine to compare with
  Both both("bfloat16");
  const auto [engine, device] = both.Train(20);
  for (size_t step = 0; step < 20; ++step) {
    INFO("step ", step);
    CHECK(device.Loss(step) == doctest::Approx(engine.Loss(step)).epsilon(1e-2));
  }
}

}  // namespace tpuest::models
