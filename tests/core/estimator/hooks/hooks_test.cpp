// The hooks that a job or a program can pass to Train.

#include "core/estimator/hooks/hook_factory.h"
#include "core/estimator/hooks/logging_tensor_hook.h"
#include "core/estimator/hooks/train_hooks.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/step/programs/hook_graph.h"
#include "core/io/events/event_reader.h"
#include "core/ops/reduction.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

using Steps = std::vector<int64_t>;
using Lines = std::vector<std::string>;

// A run of LinearModel with these hooks; each loop has `per_loop` steps.
struct HookRun {
  TemporaryFolder folder;
  Home home;
  Steps loops;
  TrainResult result;

  void Train(const std::vector<SessionRunHook*>& hooks, int64_t per_loop, int64_t max_steps,
             const RangeOptions& input = {}) {
    EstimatorOptions options = Options(folder.path(), 1);
    options.run_config.tpu_config.iterations_per_loop = per_loop;
    options.run_config.keep_checkpoint_max = 0;
    Estimator estimator(LinearModel(), options, home.get());
    AfterEachLoop ends([&](RunContext& /*context*/, const RunValues& values) {
      loops.push_back(values.global_step);
    });
    TrainHooks all{&ends};
    all.hooks.insert(all.hooks.end(), hooks.begin(), hooks.end());
    result = estimator.Train(RangeInput(input), {.max_steps = max_steps}, all);
  }
  // The lines of the log that contain this part.
  [[nodiscard]] Lines LinesWith(std::string_view part) const {
    Lines found;
    for (const std::string& line : home.lines) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }
};

Steps CheckpointSteps(const std::string& model_dir) {
  Steps steps;
  for (const auto& [step, prefix] : CheckpointsIn(model_dir)) steps.push_back(step);
  return steps;
}

// The steps of a tag's events in a folder.
Steps EventSteps(const std::string& folder, const std::string& tag) {
  Steps steps;
  for (const std::string& path : EventFiles(folder)) {
    for (const EventData& event : ReadEvents(path)) {
      for (const SummaryValue& value : event.values) {
        if (value.tag == tag) steps.push_back(event.step);
      }
    }
  }
  return steps;
}

}  // namespace

TEST_CASE("StopAtStepHook ends a run at a step, or a number of steps after its start") {
  HookRun run;
  StopAtStepHook at_seven(std::nullopt, 7);
  run.Train({&at_seven}, 4, 100);
  CHECK(run.loops == Steps{4, 7});
  CHECK(run.result.stopped_because == "StopAtStepHook");
  run.loops.clear();
  StopAtStepHook three_more(3, std::nullopt);
  run.Train({&three_more}, 2, 100);
  CHECK(run.loops == Steps{9, 10});
  CHECK(ErrorOf([] { StopAtStepHook(std::nullopt, std::nullopt); }).message() ==
        "One of num_steps or last_step must be specified.");
  CHECK(ErrorOf([] { StopAtStepHook(1, 2); }).message() ==
        "Only one of num_steps or last_step can be specified.");
}

TEST_CASE("a user's CheckpointSaverHook replaces the run's own") {
  HookRun run;
  CheckpointSaverHook saver(std::nullopt, 3);
  run.Train({&saver}, 1, 7);
  CHECK(CheckpointSteps(run.folder.path()) == Steps{0, 3, 6, 7});
}

TEST_CASE("a user's NanTensorHook may end a run without an error") {
  HookRun run;
  NanTensorHook gentle(false);
  run.Train({&gentle}, 1, 100, {.count = 100, .nan_at = 13});
  CHECK(run.result.stopped_because == "diverged");
  CHECK(run.result.global_step == 3);
  CHECK(run.home.Logged("Model diverged with loss = NaN."));
  CHECK(CheckpointSteps(run.folder.path()) == Steps{0, 3});
  NanTensorHook strict;
  HookRun other;
  CHECK(ErrorOf([&] { other.Train({&strict}, 1, 100, {.count = 100, .nan_at = 13}); }).code() ==
        Code::kDiverged);
}

TEST_CASE("a user's hooks see a NaN loss before it ends the run") {
  HookRun run;
  std::optional<float> seen;
  AfterEachLoop hook([&](RunContext& /*context*/, const RunValues& values) {
    if (values.diverged) seen = values.diverged->loss;
  });
  CHECK(ErrorOf([&] { run.Train({&hook}, 1, 100, {.count = 100, .nan_at = 13}); }).code() ==
        Code::kDiverged);
  CHECK(seen.has_value());
}

TEST_CASE("StepCounterHook counts from the first end of a loop on") {
  const auto steps = [](int64_t per_loop, int64_t every, int64_t max_steps) {
    HookRun run;
    StepCounterHook hook(every, std::nullopt, run.folder.File("counter"));
    run.Train({&hook}, per_loop, max_steps);
    return EventSteps(run.folder.File("counter"), "global_step/sec");
  };
  CHECK(steps(1, 10, 30) == Steps{11, 21});
  CHECK(steps(5, 10, 30) == Steps{15, 25});
  CHECK(steps(10, 5, 50) == Steps{20, 30, 40, 50});
}

TEST_CASE("SummarySaverHook writes the first step and each step that is far enough after it") {
  HookRun run;
  SummarySaverHook hook(4, std::nullopt, run.folder.File("summaries"));
  run.Train({&hook}, 3, 10);
  CHECK(EventSteps(run.folder.File("summaries"), "loss") == Steps{1, 5, 9});
}

TEST_CASE("LoggingTensorHook prints values of steps, and variables as they are after them") {
  HookRun run;
  LoggingTensorHook hook(
      {.tensors = std::vector<std::string>{"global_step", "dense/bias:0"}, .every_n_iter = 4});
  run.Train({&hook}, 100, 9);
  const Lines lines = run.LinesWith("dense/bias:0 = ");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("global_step = 1, dense/bias:0 = [0."));
  CHECK(lines[0].find(" sec)") == std::string::npos);
  CHECK(lines[1].starts_with("global_step = 5, dense/bias:0 = ["));
  CHECK(lines[1].ends_with(" sec)"));
  CHECK(lines[2].starts_with("global_step = 9, "));
  CHECK(run.loops == Steps{1, 5, 9});
}

TEST_CASE("LoggingTensorHook names its values, and may print only at the end") {
  HookRun run;
  LoggingTensorHook hook(
      {.tensors = std::map<std::string, std::string>{{"rate", "learning_rate"}, {"b", "bias"}},
       .at_end = true});
  run.Train({&hook}, 5, 10);
  const Lines lines = run.LinesWith("rate = ");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("b = "));
  CHECK(lines[0].ends_with(", rate = 0.1"));
}

TEST_CASE("LoggingTensorHook refuses an unknown tensor") {
  HookRun run;
  LoggingTensorHook hook({.tensors = std::vector<std::string>{"losss"}, .every_n_iter = 1});
  const Error error = ErrorOf([&] { run.Train({&hook}, 1, 2); });
  CHECK(error.message() ==
        "The name 'losss' refers to a Tensor which does not exist. The operation, 'losss', does "
        "not exist in the graph.");
  CHECK(error.faults()[0].hint ==
        "there are: loss, global_step, learning_rate, bias, and the variables");
}

TEST_CASE("a hook may add nodes that read variables, but not values of the device") {
  class Watch final : public SessionRunHook {
   public:
    void Begin(HookHome& home) override {
      home_ = &home;
      Graph& graph = home.graph.graph();
      sum_ = ops::Sum(graph.FindVariable("dense/bias")->value);
    }
    void AfterRun(RunContext& /*context*/, const RunValues& /*values*/) override {
      sums.push_back(static_cast<float>(home_->graph.Run({sum_}).front().AsDouble(0)));
    }
    std::vector<float> sums;
    HookHome* home_ = nullptr;

   private:
    Value sum_;
  };
  HookRun run;
  Watch watch;
  run.Train({&watch}, 1, 3);
  REQUIRE(watch.sums.size() == 3);
  CHECK(watch.sums[0] > 0);
  CHECK(watch.sums[0] != watch.sums[1]);

  Graph elsewhere(run.home.registry);
  const Value device = elsewhere.Scalar<float>(1, "device_loss");
  VariableStore store;
  HookGraph graph(*run.home.backend, run.home.registry, store, elsewhere);
  CHECK(ErrorOf([&] { (void)graph.Run({device}); }).message() ==
        "Inside a hook: Op device_loss depends on TPU computation device_loss, which is not "
        "allowed.");
}

TEST_CASE("with iterations_per_loop: auto a run's loops end at the hooks' polls") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path(), 1);
  options.run_config.tpu_config.iterations_per_loop = "auto";
  options.run_config.save_summary_steps = 0;
  options.run_config.log_step_count_steps.reset();
  options.run_config.save_checkpoints_steps = 20;
  Steps loops;
  AfterEachLoop ends([&](RunContext& /*context*/, const RunValues& values) {
    loops.push_back(values.global_step);
  });
  StepCounterHook counter(8, std::nullopt);
  (void)Estimator(LinearModel(), options, home.get())
      .Train(RangeInput({}), {.max_steps = 12}, {&ends, &counter});
  CHECK(loops == Steps{1, 4, 8, 12});
}

}  // namespace tpuest
