#include "core/estimator/hooks/program_hooks.h"

#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

TrainResult TrainWith(Home& home, const std::string& model_dir,
                      const std::vector<SessionRunHook*>& hooks) {
  EstimatorOptions options = Options(model_dir);
  options.run_config.tpu_config.iterations_per_loop = 1;
  return Estimator(LinearModel(), options, home.get())
      .Train(RangeInput({}), {.max_steps = 3}, TrainHooks(hooks, {}));
}

}  // namespace

TEST_CASE("FinalOpsHook returns values from the end of a run") {
  TemporaryFolder folder;
  Home home;
  FinalOpsHook hook([](Graph& graph) {
    const Value step = graph.FindVariable("global_step")->value;
    const Value bias = graph.FindVariable("dense/bias")->value;
    return std::vector<Value>{step, ops::Sum(ops::AddV2(bias, bias))};
  });
  (void)TrainWith(home, folder.path(), {&hook});
  REQUIRE(hook.final_ops_values().size() == 2);
  CHECK(*hook.final_ops_values()[0].data<int64_t>() == 3);
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const float trained = *hook.final_ops_values()[1].data<float>();
  CHECK(trained > 0);
  SUBCASE("it also works in an evaluation") {
    (void)estimator.Evaluate(RangeInput({.repeat = 1}), {.hooks = {&hook}});
    CHECK(*hook.final_ops_values()[1].data<float>() == trained);
  }
}

TEST_CASE("FeedFnHook feeds placeholders again before each loop") {
  class Twice final : public SessionRunHook {
   public:
    void Begin(HookHome& home) override {
      home_ = &home;
      given = home.graph.graph().Placeholder(DType::kFloat, {}, "given");
      twice_ = ops::AddV2(given, given);
    }
    void AfterRun(RunContext& /*context*/, const RunValues& /*values*/) override {
      seen.push_back(*home_->graph.Run({twice_}).front().data<float>());
    }
    Value given;
    std::vector<float> seen;

   private:
    HookHome* home_ = nullptr;
    Value twice_;
  } twice;
  float next = 0;
  FeedFnHook feed([&] {
    next += 1;
    return std::vector<std::pair<Value, Tensor>>{{twice.given, Tensor::Scalar<float>(next)}};
  });
  TemporaryFolder folder;
  Home home;
  (void)TrainWith(home, folder.path(), {&twice, &feed});
  CHECK(twice.seen == std::vector<float>{2, 4, 6});
}

TEST_CASE("GlobalStepWaiterHook delays the first step") {
  TemporaryFolder folder;
  Home home;
  int64_t other = 0;
  double slept = 0;
  GlobalStepWaiterHook hook(
      2000, [&] { return other; },
      [&](double seconds) {
        slept += seconds;
        other += 800;
      });
  const TrainResult result = TrainWith(home, folder.path(), {&hook});
  CHECK(slept == 1.5);
  CHECK(result.global_step == 3);
  CHECK(home.Logged("Waiting for global step 2000 before starting training."));
  CHECK(
      home.Logged("Waiting for global step 2000 before starting training. Current step is 1600."));
}

TEST_CASE("GlobalStepWaiterHook ends a run that is asked to stop") {
  TemporaryFolder folder;
  Home home;
  GlobalStepWaiterHook hook(
      10, [] { return 0; },
      [&](double /*seconds*/) { home.stop.Request(StopSignal::Kind::kPreempted); });
  CHECK(TrainWith(home, folder.path(), {&hook}).stopped_because == "preempted");
}

TEST_CASE("hooks of an evaluation and a prediction are called around every batch") {
  class Count final : public SessionRunHook {
   public:
    explicit Count(int stop_after = 1000) : stop_after_(stop_after) {}
    void Begin(HookHome& /*home*/) override { calls += "b"; }
    void AfterCreateSession(const SessionInfo& session) override {
      calls += "s";
      step = session.global_step;
    }
    void BeforeRun(RunContext& /*context*/) override { calls += "<"; }
    void AfterRun(RunContext& context, const RunValues& /*values*/) override {
      calls += ">";
      if (--stop_after_ == 0) context.RequestStop("enough");
    }
    void End(int64_t /*global_step*/) override { calls += "e"; }
    std::string calls;
    int64_t step = 0;

   private:
    int stop_after_;
  };
  TemporaryFolder folder;
  Home home;
  (void)TrainWith(home, folder.path(), {});
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  Count all;
  (void)estimator.Evaluate(RangeInput({.repeat = 1}), {.hooks = {&all}});
  CHECK(all.calls == "bs<><><>e");
  CHECK(all.step == 3);
  Count two(2);
  CHECK(estimator.Evaluate(RangeInput({.repeat = 1}), {.hooks = {&two}}).batches == 2);
  Count predicted;
  (void)estimator.Predict(RangeInput({.repeat = 1}), {.hooks = {&predicted}},
                          [](const PredictionRow& /*row*/) { return true; });
  CHECK(predicted.calls == "bs<><><>e");
}

}  // namespace tpuest
