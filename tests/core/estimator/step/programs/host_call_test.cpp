// host_call: its inputs, the steps at which it runs, and where its scalars are written. The numbers
// of the loops are those of TensorFlow's own tests of TPUEstimator.

#include "core/io/events/event_reader.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

using Tensors = std::map<std::string, Value>;

// The linear model with a host_call on x and on the global step at the start of the step.
ModelFn WithHostCall(HostCallFn fn) {
  return [fn = std::move(fn), base = LinearModel()](Graph& graph, const ModelInputs& inputs,
                                                    Mode mode, const Params& params) {
    TPUEstimatorSpec spec = base(graph, inputs, mode, params);
    const Value step = nn::GetOrCreateGlobalStep(graph)->value;
    spec.host_call = HostCall{
        .fn = fn, .tensors = {{"step", ops::ExpandDims(step, 0)}, {"x", inputs.features.at("x")}}};
    return spec;
  };
}

// Every scalar "sum" of a folder's events: the step and the value.
std::vector<std::pair<int64_t, float>> Sums(const std::string& folder) {
  std::vector<std::pair<int64_t, float>> sums;
  for (const std::string& file : EventFiles(folder)) {
    for (const EventData& event : ReadEvents(file)) {
      for (const SummaryValue& value : event.values) {
        if (value.tag == "sum") sums.emplace_back(event.step, std::get<float>(value.value));
      }
    }
  }
  return sums;
}

HostCallOps SumOfX(Graph& /*graph*/, const Tensors& tensors) {
  HostCallOps built;
  built.scalars["sum"] = ops::Sum(tensors.at("x"));
  built.step = ops::Max(tensors.at("step"));
  return built;
}

std::vector<int64_t> StepsOf(int64_t every, int64_t steps, bool use_tpu = true) {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path(), use_tpu ? 2 : 0);
  options.run_config.tpu_config.iterations_per_loop = int64_t{21};
  options.run_config.tpu_config.experimental_host_call_every_n_steps = every;
  Estimator(WithHostCall(SumOfX), options, home.get()).Train(RangeInput({}), {.max_steps = steps});
  std::vector<int64_t> found;
  for (const auto& [step, sum] : Sums(folder.path())) found.push_back(step);
  return found;
}

}  // namespace

TEST_CASE("a host_call gets the rows of all replicas, at every step") {
  for (const int shards : {0, 1, 2, 4}) {
    CAPTURE(shards);
    TemporaryFolder folder;
    Home home;
    Estimator(WithHostCall(SumOfX), Options(folder.path(), shards), home.get())
        .Train(RangeInput({}), {.max_steps = 3});
    const auto sums = Sums(folder.path());
    REQUIRE(sums.size() == 3);
    for (int64_t step = 0; step < 3; ++step) {  // of 4 examples i / 12 each
      CHECK(sums[static_cast<size_t>(step)].first == step);
      const auto first = static_cast<float>(4 * step);
      CHECK(sums[static_cast<size_t>(step)].second == doctest::Approx((4 * first + 6) / 12));
    }
  }
}

TEST_CASE("experimental_host_call_every_n_steps starts counting in each loop") {
  std::vector<int64_t> expected;
  for (int64_t step = 0; step <= 20; step += 2) expected.push_back(step);
  for (int64_t step = 21; step <= 41; step += 2) expected.push_back(step);
  const std::vector<int64_t> steps = StepsOf(2, 42);
  CHECK(steps == expected);
  std::vector<int64_t> fifth;
  for (const int64_t step : steps) {
    if (step % 5 == 0) fifth.push_back(step);
  }
  CHECK(fifth == std::vector<int64_t>{0, 10, 20, 25, 35});
  CHECK(StepsOf(1, 42).size() == 42);
}

TEST_CASE("without TPU a host_call runs at every step") { CHECK(StepsOf(2, 5, false).size() == 5); }

TEST_CASE("an evaluation calls it for every batch, at the checkpoint's step") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(WithHostCall(SumOfX), Options(folder.path(), 2), home.get());
  estimator.Train(RangeInput({}), {.max_steps = 42});
  estimator.Evaluate(RangeInput({.count = 28, .repeat = 1}));
  const auto sums = Sums(folder.File("eval"));
  REQUIRE(sums.size() == 7);
  for (const auto& [step, sum] : sums) CHECK(step == 42);
  CHECK(sums[0].second == doctest::Approx(6.0 / 28));
}

TEST_CASE("variables of a host_call keep their values from step to step") {
  TemporaryFolder folder;
  Home home;
  const HostCallFn counts = [](Graph& graph, const Tensors& tensors) {
    const Variable* const count =
        graph.AddVariable("count", DType::kFloat, {}, graph.Scalar<float>(0.0F), {.local = true});
    HostCallOps built;
    built.targets = {ops::AssignAddVariableOp(count->handle, graph.Scalar<float>(1.0F))};
    built.scalars["sum"] = ops::AddV2(count->value, ops::Mul(ops::Sum(tensors.at("x")), 0.0));
    return built;
  };
  Estimator(WithHostCall(counts), Options(folder.path(), 2), home.get())
      .Train(RangeInput({}), {.max_steps = 3});
  CHECK(Sums(folder.path()) == std::vector<std::pair<int64_t, float>>{{0, 0}, {1, 1}, {2, 2}});
}

TEST_CASE("a host_call without tensors is not called") {
  TemporaryFolder folder;
  Home home;
  bool called = false;
  const ModelFn model = [&](Graph& graph, const ModelInputs& inputs, Mode mode,
                            const Params& params) {
    TPUEstimatorSpec spec = LinearModel()(graph, inputs, mode, params);
    spec.host_call = HostCall{.fn = [&](Graph&, const Tensors&) {
      called = true;
      return HostCallOps();
    }};
    return spec;
  };
  Estimator(model, Options(folder.path(), 2), home.get()).Train(RangeInput({}), {.max_steps = 1});
  CHECK(!called);
}

TEST_CASE("a scalar among a host_call's tensors is refused on TPU, in TensorFlow's words") {
  const ModelFn model = [](Graph& graph, const ModelInputs& inputs, Mode mode,
                           const Params& params) {
    TPUEstimatorSpec spec = LinearModel()(graph, inputs, mode, params);
    spec.host_call = HostCall{.fn = SumOfX, .tensors = {{"x", spec.loss}}};
    return spec;
  };
  TemporaryFolder folder;
  Home home;
  Estimator estimator(model, Options(folder.path(), 2), home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.message() ==
        "All tensors outfed from TPU should preserve batch size dimension, but got scalar 'loss'");
  CHECK(!DirectoryExists(folder.File(".tpuest")));
}

TEST_CASE("a summary that is not a scalar is refused") {
  const HostCallFn fn = [](Graph&, const Tensors& tensors) {
    HostCallOps built;
    built.scalars["sum"] = tensors.at("x");
    return built;
  };
  TemporaryFolder folder;
  Home home;
  Estimator estimator(WithHostCall(fn), Options(folder.path(), 2), home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); });
  CHECK(error.message() == "host_call: the summary 'sum' is [?,1], expected a scalar");
}

TEST_CASE("a warning names a fn whose arguments do not match, and its error is rethrown") {
  const HostCallFn asks_for_y = [](Graph&, const Tensors& tensors) {
    HostCallOps built;
    built.scalars["sum"] = ops::Sum(tensors.at("y"));
    return built;
  };
  TemporaryFolder folder;
  Home home;
  Estimator training(WithHostCall(asks_for_y), Options(folder.path(), 2), home.get());
  CHECK_THROWS_AS(training.Train(RangeInput({}), {.max_steps = 1}), std::out_of_range);
  CHECK(home.Logged("Exception while calling host_call: "));
  CHECK(
      home.Logged("It is likely the tensors (host_call[1]) do not match the function's arguments"));

  const ModelFn model = [](Graph& graph, const ModelInputs& inputs, Mode mode,
                           const Params& params) {
    TPUEstimatorSpec spec = LinearModel()(graph, inputs, mode, params);
    if (spec.eval_metrics) spec.eval_metrics->tensors.erase("x");
    return spec;
  };
  Estimator evaluation(model, Options(folder.File("new"), 2), home.get());
  CHECK_THROWS_AS((void)evaluation.Evaluate(RangeInput({.repeat = 1})), std::out_of_range);
  CHECK(home.Logged("Exception while calling eval_metrics: "));
  CHECK(home.Logged("It is likely the tensors (eval_metrics[1]) do not match"));
}

}  // namespace tpuest
