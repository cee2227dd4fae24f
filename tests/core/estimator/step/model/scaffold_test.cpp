// scaffold_fn: it is called once; what it may contain; what its scaffold does.

#include "core/estimator/step/model/scaffold.h"

#include "core/io/bundle.h"
#include "core/ops/array.h"
#include "core/ops/state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

using MakeScaffold = std::function<std::optional<Scaffold>(Graph&, const TPUEstimatorSpec&)>;

// The linear model with a scaffold_fn.
ModelFn WithScaffold(MakeScaffold make) {
  return [make = std::move(make), base = LinearModel()](Graph& graph, const ModelInputs& inputs,
                                                        Mode mode, const Params& params) {
    TPUEstimatorSpec spec = base(graph, inputs, mode, params);
    spec.scaffold_fn = [&graph, make, built = spec] { return make(graph, built); };
    return spec;
  };
}

Error TrainError(const MakeScaffold& make) {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(WithScaffold(make), Options(folder.path(), 2), home.get());
  return ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); });
}

}  // namespace

TEST_CASE("a scaffold_fn is called once in each mode") {
  TemporaryFolder folder;
  Home home;
  int calls = 0;
  const ModelFn model = WithScaffold([&](Graph&, const TPUEstimatorSpec&) {
    ++calls;
    return Scaffold();
  });
  EstimatorOptions options = Options(folder.path(), 0);
  options.eval_batch_size = 5;
  Estimator estimator(model, options, home.get());
  // Batches of 4, 4, 4 and a short one, for which the model is built a second time.
  estimator.Train(RangeInput({.count = 14, .repeat = 1}), {.max_steps = 9});
  CHECK(calls == 1);
  estimator.Evaluate(RangeInput({.repeat = 1}));
  CHECK(calls == 2);
  estimator.Evaluate(RangeInput({.repeat = 1}));
  CHECK(calls == 2);
  estimator.Predict(RangeInput({.repeat = 1}), {}, [](const PredictionRow&) { return true; });
  CHECK(calls == 3);
}

TEST_CASE("a scaffold_fn that returns nothing is refused") {
  CHECK(TrainError([](Graph&, const TPUEstimatorSpec&) { return std::nullopt; }).message() ==
        "TPUEstimatorSpec.scaffold_fn returns None, which is not allowed");
}

TEST_CASE("a scaffold_fn cannot read values of the device") {
  const Error error = TrainError([](Graph& graph, const TPUEstimatorSpec& spec) {
    const Variable* const kernel = graph.FindVariable("dense/bias");
    return Scaffold{.local_init_op = ops::AssignVariableOp(
                        kernel->handle, ops::ExpandDims(spec.loss, 0, "from_loss"))};
  });
  CHECK(error.message() ==
        "Inside scaffold_fn: Op from_loss depends on TPU computation loss, which is not "
        "allowed.");
}

TEST_CASE("a scaffold's local_init_op runs on the variables before the first step") {
  TemporaryFolder folder;
  Home home;
  const ModelFn model = WithScaffold([](Graph& graph, const TPUEstimatorSpec&) {
    const Variable* const bias = graph.FindVariable("dense/bias");
    return Scaffold{.local_init_op = ops::AssignVariableOp(
                        bias->handle, graph.Constant(Tensor::Of<float>({1}, {7})))};
  });
  EstimatorOptions options = Options(folder.path(), 2);
  Estimator estimator(model, options, home.get());
  float first = 0;
  estimator.Predict(RangeInput({.count = 1, .repeat = 1}), {}, [&](const PredictionRow& row) {
    first = *row.values.at("y").data<float>();
    return true;
  });
  CHECK(first == 7);
}

TEST_CASE("a scaffold's names determine what evaluation restores") {
  TemporaryFolder folder;
  Home home;
  Estimator trained(LinearModel(), Options(folder.path(), 2), home.get());
  trained.Train(RangeInput({}), {.max_steps = 3});
  const auto bias = [&](const ModelFn& model) {
    Home other;
    Estimator estimator(model, Options(folder.path(), 2), other.get());
    float value = 0;  // x is 0 in the first example
    estimator.Predict(RangeInput({.count = 1, .repeat = 1}), {}, [&](const PredictionRow& row) {
      value = *row.values.at("y").data<float>();
      return true;
    });
    return value;
  };
  const ModelFn renamed = WithScaffold([](Graph&, const TPUEstimatorSpec&) {
    return Scaffold{.restore_names = {{"dense/bias", "dense/bias/Momentum"}}};
  });
  const std::string prefix = folder.File("model.ckpt-3");
  CHECK(bias(LinearModel()) == *BundleReader(prefix).Read("dense/bias").data<float>());
  CHECK(bias(renamed) == *BundleReader(prefix).Read("dense/bias/Momentum").data<float>());
  CHECK(bias(LinearModel()) != bias(renamed));

  const ModelFn lost = WithScaffold([](Graph&, const TPUEstimatorSpec&) {
    return Scaffold{.restore_names = {{"dense/bias", "dense/bias/Average"}}};
  });
  const Error missing = ErrorOf([&] { (void)bias(lost); });
  CHECK(missing.code() == Code::kCheckpoint);
  CHECK(missing.message().find("\"dense/bias/Average\"") != std::string::npos);

  const ModelFn unknown = WithScaffold([](Graph&, const TPUEstimatorSpec&) {
    return Scaffold{.restore_names = {{"dense/gamma", "dense/bias"}}};
  });
  CHECK(ErrorOf([&] { (void)bias(unknown); }).message() ==
        "scaffold_fn: \"dense/gamma\" is to be restored from \"dense/bias\", but the graph has no "
        "such variable");
}

}  // namespace tpuest
