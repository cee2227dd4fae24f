// EstimatorSpec, as_estimator_spec, and the hooks of a spec.

#include "core/estimator/step/model/estimator_spec.h"

#include "core/estimator/hooks/train_hooks.h"
#include "core/ops/state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

ModelFn AsPlainModel(ModelFn model_fn, Log& log) {
  return ModelFnOf(
      [model_fn = std::move(model_fn)](Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params) {
        return AsEstimatorSpec(graph, model_fn(graph, inputs, mode, params));
      },
      log);
}

// Adds its name to a list at its begin, at each call and at its end.
class Named final : public SessionRunHook {
 public:
  Named(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}
  void Begin(HookHome& /*home*/) override { calls_.push_back("begin " + name_); }
  void AfterRun(RunContext& /*context*/, const RunValues& values) override {
    calls_.push_back(fmt::format("{} {}", name_, values.global_step));
  }
  void End(int64_t /*global_step*/) override { calls_.push_back("end " + name_); }

 private:
  std::string name_;
  std::vector<std::string>& calls_;
};

ModelFn WithHooks(std::vector<std::string>& calls) {
  return [&calls, base = LinearModel()](Graph& graph, const ModelInputs& inputs, Mode mode,
                                        const Params& params) {
    TPUEstimatorSpec spec = base(graph, inputs, mode, params);
    spec.training_hooks = {std::make_shared<Named>("train", calls)};
    spec.evaluation_hooks = {std::make_shared<Named>("eval", calls)};
    spec.prediction_hooks = {std::make_shared<Named>("predict", calls)};
    return spec;
  };
}

using Calls = std::vector<std::string>;

struct Losses {
  std::vector<float> steps;
  std::map<std::string, double> metrics;
  std::string checkpoint;
};

Losses RunOf(const ModelFn& model_fn, Home& home) {
  TemporaryFolder folder;
  Losses losses;
  AfterEachLoop watch([&](RunContext&, const RunValues& values) {
    for (const StepRecord& step : values.steps) losses.steps.push_back(step.loss);
  });
  Estimator estimator(model_fn, Options(folder.path()), home.get());
  const TrainResult trained = estimator.Train(RangeInput({}), {.max_steps = 9}, {&watch});
  losses.checkpoint = CheckpointBytes(trained.checkpoint);
  // 14 rows in batches of 4: the last one is short.
  for (const auto& [name, value] :
       estimator.Evaluate(RangeInput({.count = 14, .repeat = 1})).metrics) {
    losses.metrics[name] = value.AsDouble(0);
  }
  return losses;
}

Error TpuError(EstimatorModelFn model_fn, Mode mode) {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path(), 2);
  Estimator estimator(ModelFnOf(std::move(model_fn), home.log), options, home.get());
  return ErrorOf([&] {
    if (mode == Mode::kTrain) estimator.Train(RangeInput({}), {.max_steps = 1});
    if (mode == Mode::kEval) estimator.Evaluate(RangeInput({.repeat = 1}), {.steps = 1});
    estimator.Predict(RangeInput({.repeat = 1}), {}, [](const PredictionRow&) { return true; });
  });
}

EstimatorSpec PlainLinear(Graph& graph, const ModelInputs& inputs, Mode mode,
                          const Params& params) {
  return AsEstimatorSpec(graph, LinearModel()(graph, inputs, mode, params));
}

}  // namespace

TEST_CASE("as_estimator_spec has the losses and metrics of the TPUEstimatorSpec on one replica") {
  Home home;
  const Losses tpu = RunOf(LinearModel(), home);
  const Losses plain = RunOf(AsPlainModel(LinearModel(), home.log), home);
  CHECK(plain.steps.size() == 9);
  CHECK(plain.steps == tpu.steps);
  CHECK(plain.checkpoint == tpu.checkpoint);
  CHECK(plain.metrics == tpu.metrics);
  CHECK(plain.metrics.contains("average_loss"));
}

TEST_CASE("metrics of an EstimatorSpec start again in each evaluation") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(AsPlainModel(LinearModel(), home.log), Options(folder.path()), home.get());
  const InputFn input_fn = RangeInput({.repeat = 1});
  const auto first = estimator.Evaluate(input_fn).metrics.at("mean_x").AsDouble(0);
  CHECK(first == doctest::Approx(5.5 / 12));
  CHECK(estimator.Evaluate(input_fn).metrics.at("mean_x").AsDouble(0) == first);
}

TEST_CASE("a metric of an EstimatorSpec may not be named loss") {
  TemporaryFolder folder;
  Home home;
  const ModelFn model_fn = ModelFnOf(
      [](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
        EstimatorSpec spec = PlainLinear(graph, inputs, mode, params);
        spec.eval_metric_ops["loss"] = spec.eval_metric_ops.begin()->second;
        return spec;
      },
      home.log);
  Estimator estimator(model_fn, Options(folder.path()), home.get());
  CHECK(ErrorOf([&] { estimator.Evaluate(RangeInput({.repeat = 1})); }).message() ==
        "Metric with name \"loss\" is not allowed, because Estimator already defines a default "
        "metric with the same name.");
}

TEST_CASE("the scaffold of an EstimatorSpec is the model's on one replica, and ignored on TPU") {
  const auto with_scaffold = [](Graph& graph, const ModelInputs& inputs, Mode mode,
                                const Params& params) {
    EstimatorSpec spec = PlainLinear(graph, inputs, mode, params);
    const Variable* const bias = graph.FindVariable("dense/bias");
    spec.scaffold = Scaffold{.local_init_op = ops::AssignVariableOp(
                                 bias->handle, graph.Constant(Tensor::Of<float>({1}, {7})))};
    return spec;
  };
  const std::string warning =
      "EstimatorSpec.Scaffold is ignored by TPU train/eval. Please use TPUEstimatorSpec.";
  const auto first_loss = [&](int shards, bool warns) {
    TemporaryFolder folder;
    Home home;
    Estimator estimator(ModelFnOf(with_scaffold, home.log), Options(folder.path(), shards),
                        home.get());
    const TrainResult result = estimator.Train(RangeInput({}), {.max_steps = 1});
    CHECK(home.Logged(warning) == warns);
    return result.loss.value();
  };
  // Labels 1 + 2x with x = 0, 1/12, 2/12, 3/12, bias 7 or 0, kernel 0.
  CHECK(first_loss(0, false) == doctest::Approx(33.0972).epsilon(1e-4));
  CHECK(first_loss(2, true) == doctest::Approx(1.5972).epsilon(1e-4));
}

TEST_CASE("on TPU an EstimatorSpec supports only training, without chief hooks") {
  CHECK(TpuError(PlainLinear, Mode::kEval).message() ==
        "estimator_spec used by TPU evaluation must have type`TPUEstimatorSpec`. Got "
        "EstimatorSpec");
  CHECK(TpuError(PlainLinear, Mode::kPredict).message() ==
        "estimator_spec used by TPU prediction must have type`TPUEstimatorSpec`. Got "
        "EstimatorSpec");
  Calls calls;
  const Error error = TpuError(
      [&](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
        EstimatorSpec spec = PlainLinear(graph, inputs, mode, params);
        spec.training_chief_hooks = {std::make_shared<Named>("chief", calls)};
        return spec;
      },
      Mode::kTrain);
  CHECK(error.message() ==
        "training_chief_hooks returned by EstimatorSpec is not supported in TPUEstimator. If you "
        "want to pass training hooks, please pass via training_hooks.");
  CHECK(calls.empty());
}

TEST_CASE("hooks of a spec are called in their mode, after the call's") {
  TemporaryFolder folder;
  Home home;
  Calls calls;
  Named given("given", calls);
  EstimatorOptions options = Options(folder.path(), 2);
  options.run_config.tpu_config.iterations_per_loop = int64_t{2};
  Estimator estimator(WithHooks(calls), options, home.get());
  estimator.Train(RangeInput({}), {.max_steps = 3}, {&given});
  CHECK(calls == Calls{"begin given", "begin train", "given 2", "train 2", "given 3", "train 3",
                       "end given", "end train"});
  calls.clear();
  estimator.Evaluate(RangeInput({.repeat = 1}), {.steps = 2, .hooks = {&given}});
  CHECK(calls == Calls{"begin given", "begin eval", "given 3", "eval 3", "given 3", "eval 3",
                       "end given", "end eval"});
  calls.clear();
  estimator.Predict(RangeInput({.count = 4, .repeat = 1}), {},
                    [](const PredictionRow&) { return true; });
  CHECK(calls == Calls{"begin predict", "predict 3", "end predict"});
}

TEST_CASE("chief hooks of an EstimatorSpec come before the call's, its saver is the run's") {
  TemporaryFolder folder;
  Home home;
  Calls calls;
  Named given("given", calls);
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_checkpoints_steps.reset();
  options.run_config.save_checkpoints_secs.reset();
  const ModelFn model_fn = ModelFnOf(
      [&](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
        EstimatorSpec spec = PlainLinear(graph, inputs, mode, params);
        spec.training_chief_hooks = {std::make_shared<Named>("chief", calls)};
        spec.common.training_hooks = {
            std::make_shared<CheckpointSaverHook>(std::nullopt, int64_t{2})};
        return spec;
      },
      home.log);
  Estimator estimator(model_fn, options, home.get());
  const TrainResult result = estimator.Train(RangeInput({}), {.max_steps = 1}, {&given});
  CHECK(calls ==
        Calls{"begin chief", "begin given", "chief 1", "given 1", "end chief", "end given"});
  CHECK(result.checkpoint == JoinPath(folder.path(), "model.ckpt-1"));
}

}  // namespace tpuest
