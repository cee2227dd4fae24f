#include "core/estimator/options/iterations_per_loop.h"

#include "core/estimator/model_dir/model_dir.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

using Unit = IterationsPerLoopCounter::Unit;
using Steps = std::vector<int64_t>;

// Time passes only in steps, by the duration of each.
class StepClock final : public Clock {
 public:
  [[nodiscard]] double WallSeconds() const override { return 4e9 + now; }
  [[nodiscard]] double Seconds() const override { return now; }
  double now = 0;
};

struct LoopRun {
  Steps loops;  // global step after each loop
  Steps checkpoints;
};

struct RunOptions {
  IterationsPerLoop per_loop = "auto";
  int64_t save_steps = 1000;
  int64_t summary_steps = 100;
  int64_t log_steps = 100;
  int shards = 1;
};

LoopRun TrainLoops(const std::string& model_dir, const TrainLength& length, const RunOptions& of) {
  Home home;
  EstimatorOptions options = Options(model_dir, of.shards);
  options.run_config.tpu_config.iterations_per_loop = of.per_loop;
  options.run_config.save_checkpoints_steps = of.save_steps;
  options.run_config.save_summary_steps = of.summary_steps;
  options.run_config.log_step_count_steps = of.log_steps;
  options.run_config.keep_checkpoint_max = 0;
  Estimator estimator(LinearModel(), options, home.get());
  LoopRun run;
  AfterEachLoop hook([&](RunContext& /*context*/, const RunValues& values) {
    run.loops.push_back(values.global_step);
  });
  (void)estimator.Train(RangeInput({}), length, {&hook});
  for (const auto& [step, prefix] : CheckpointsIn(model_dir)) run.checkpoints.push_back(step);
  return run;
}

}  // namespace

TEST_CASE("iterations_per_loop is a count or a time") {
  const auto parsed = [](const IterationsPerLoop& value) { return ParseIterationsPerLoop(value); };
  const auto count = [](int64_t value) { return IterationsPerLoopCounter{value, Unit::kCount}; };
  const auto seconds = [](int64_t value) {
    return IterationsPerLoopCounter{value, Unit::kSeconds};
  };
  CHECK(parsed(int64_t{1}) == count(1));
  CHECK(parsed("1") == count(1));
  CHECK(parsed("12") == count(12));
  CHECK(parsed("123") == count(123));
  CHECK(parsed("1h") == seconds(3600));
  CHECK(parsed("10m") == seconds(600));
  CHECK(parsed("10800s") == seconds(10800));
  CHECK(parsed("300s") == seconds(300));
  CHECK(parsed("auto") == IterationsPerLoopCounter{0, Unit::kAuto});
  for (const int64_t value : {0, -1}) CHECK(!parsed(value));
  for (const char* const text : {"0", "01", "001", "012", "-1", "0h", "-1s", "01h", "", "h", "5d",
                                 "5 s", "5ss", "1.5h", "9999999999999999h", "+5"}) {
    CAPTURE(text);
    CHECK(!parsed(text));
  }
}

TEST_CASE("the steps of a loop by time follow from the mean time of a step") {
  IterationCountEstimator estimator;
  CHECK(estimator.Get(10) == 1);  // no sample yet
  CHECK(estimator.message().empty());
  estimator.Update(2, 1);
  CHECK(estimator.Get(10) == 5);
  estimator.Update(4, 4);
  CHECK(estimator.Get(10) == 7);  // 10 / 1.5 = 6.67
  CHECK(estimator.message() ==
        "IterationCountEstimator -- target_runtime:10.000s. last_runtime:4.000s. "
        "mean_runtime:3.000s. last_step_time:1.000. std_step_time:0.500. mean_step_time:1.500s. "
        "delta_steps:1.67. prev_steps:4.00. next_steps:6.67.");
  estimator.Update(0, 4);  // no time passed: not a sample
  estimator.Update(4, 0);
  CHECK(estimator.Get(10) == 7);
  estimator.Update(1000, 1);
  CHECK(estimator.Get(10) == 1);  // at least one
  CHECK(ErrorOf([&] { (void)estimator.Get(0); }).message() ==
        "Invalid `total_secs`. It must be positive number. Actual:0");
}

TEST_CASE("the steps of a loop by time stay constant once the time per step is stable") {
  IterationCountEstimator estimator(3);
  for (int i = 0; i < 3; ++i) estimator.Update(10, 10);
  CHECK(estimator.Get(10) == 10);
  estimator.Update(9.9, 10);  // a fourth sample: more than fit, near the target, steady
  CHECK(estimator.Get(10) == 10);
  estimator.Update(5, 10);  // far from it
  CHECK(estimator.Get(10) > 10);
}

TEST_CASE("only the last samples count") {
  IterationCountEstimator estimator(2);
  estimator.Update(100, 1);
  estimator.Update(1, 1);
  estimator.Update(1, 1);
  CHECK(estimator.Get(8) == 8);
}

TEST_CASE("a loop by time takes one step, then as many as fit") {
  Log log;
  LoopLength length({10, Unit::kSeconds}, 0, log);
  CHECK(length.Next(0) == 1);
  length.Ran(0.5, 1);
  CHECK(length.Next(1) == 20);
}

TEST_CASE("auto ends loops at multiples of the period, at most about five seconds away") {
  Log log;
  LoopLength length({0, Unit::kAuto}, 100, log);
  CHECK(length.Next(0) == 1);
  length.Ran(0.01, 1);
  CHECK(length.Next(1) == 99);
  length.Ran(0.99, 99);
  CHECK(length.Next(100) == 100);
  CHECK(length.Next(250) == 50);
  LoopLength slow({0, Unit::kAuto}, 100, log);
  slow.Ran(0.5, 1);
  CHECK(slow.Next(100) == 10);
  LoopLength alone({0, Unit::kAuto}, 0, log);
  alone.Ran(0.01, 1);
  CHECK(alone.Next(100) == 500);
}

TEST_CASE("a run by time counts its loops with the clock it is given") {
  TemporaryFolder folder;
  Home home;
  StepClock clock;
  EstimatorHome estimator_home{.registry = home.registry,
                               .backend = *home.backend,
                               .log = home.log,
                               .clock = clock,
                               .stop = home.stop,
                               .fsync = false};
  EstimatorOptions options = Options(folder.path(), 1);
  options.run_config.tpu_config.iterations_per_loop = "10m";
  Estimator estimator(LinearModel(), options, estimator_home);
  Steps loops;
  AfterEachLoop hook([&](RunContext& /*context*/, const RunValues& values) {
    loops.push_back(values.global_step);
    clock.now += 1;  // time of hooks, which does not count
  });
  (void)estimator.Train(RangeInput({}), {.max_steps = 7}, {&hook});
  // No time passes in a step, so every loop counts as the first one.
  CHECK(loops == Steps{1, 2, 3, 4, 5, 6, 7});
  CHECK(home.Logged("ElapsedTime: 0.000"));
}

TEST_CASE("auto saves at multiples of save_checkpoints_steps, cut or not") {
  TemporaryFolder folder;
  const RunOptions options{.save_steps = 20, .summary_steps = 10, .log_steps = 30};
  const LoopRun run = TrainLoops(folder.File("whole"), {.max_steps = 50}, options);
  CHECK(run.loops == Steps{1, 10, 20, 30, 40, 50});
  CHECK(run.checkpoints == Steps{0, 20, 40, 50});
  (void)TrainLoops(folder.File("cut"), {.max_steps = 7}, options);
  CHECK(TrainLoops(folder.File("cut"), {.max_steps = 50}, options).checkpoints ==
        Steps{0, 7, 20, 40, 50});
}

TEST_CASE("a count saves at the first end of a loop that is far enough from the last save") {
  TemporaryFolder folder;
  const auto saves = [&](const std::string& name, int64_t per_loop, int64_t every) {
    return TrainLoops(folder.File(name), {.max_steps = 30},
                      {.per_loop = per_loop, .save_steps = every})
        .checkpoints;
  };
  CHECK(saves("a", 5, 12) == Steps{0, 15, 30});
  CHECK(saves("b", 5, 10) == Steps{0, 10, 20, 30});
  CHECK(saves("c", 10, 3) == Steps{0, 10, 20, 30});
}

TEST_CASE("use_tpu: false saves exactly at the step, whatever iterations_per_loop says") {
  TemporaryFolder folder;
  for (const IterationsPerLoop& per_loop : {IterationsPerLoop("auto"), IterationsPerLoop(2),
                                            IterationsPerLoop(1000), IterationsPerLoop("10m")}) {
    TemporaryFolder run;
    const RunOptions options{.per_loop = per_loop, .save_steps = 7, .shards = 0};
    CHECK(TrainLoops(run.path(), {.max_steps = 21}, options).checkpoints == Steps{0, 7, 14, 21});
  }
  // TensorFlow counts from the first step of a run.
  const RunOptions options{.per_loop = 2, .save_steps = 7, .shards = 0};
  (void)TrainLoops(folder.path(), {.max_steps = 10}, options);
  CHECK(TrainLoops(folder.path(), {.max_steps = 30}, options).checkpoints ==
        Steps{0, 7, 10, 17, 24, 30});
}

TEST_CASE("use_tpu: false polls a hook without a period after each step") {
  TemporaryFolder folder;
  const RunOptions options{.per_loop = 2, .shards = 0};
  CHECK(TrainLoops(folder.path(), {.max_steps = 5}, options).loops == Steps{1, 2, 3, 4, 5});
}

}  // namespace tpuest
