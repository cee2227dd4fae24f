#include "core/estimator/hooks/early_stopping.h"

#include "core/io/events/event_reader.h"
#include "core/io/events/event_writer.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// Writes a loss and an accuracy per step.
void WriteEvaluations(const std::string& folder) {
  EventWriter events(folder, 1e9);
  const auto write = [&](int64_t step, float loss, float accuracy) {
    events.Summary(1e9, step,
                   {{.tag = "loss", .value = loss}, {.tag = "accuracy", .value = accuracy}});
  };
  write(1000, 0.8F, 0.5F);
  write(2000, 0.7F, 0.6F);
  write(3000, 0.4F, 0.7F);
  write(3500, 0.41F, 0.68F);
}

struct Evaluations {
  TemporaryFolder folder;
  Home home;
  Evaluations() { WriteEvaluations(folder.path()); }
  [[nodiscard]] EvalMetricsBySteps Read() { return ReadEvalMetrics(folder.path(), home.log); }
};

// Loops of one step, up to 5; the hook reads eval/.
TrainResult TrainWith(Home& home, const std::string& model_dir, SessionRunHook& hook) {
  EstimatorOptions options = Options(model_dir);
  options.run_config.tpu_config.iterations_per_loop = 1;
  return Estimator(LinearModel(), options, home.get())
      .Train(RangeInput({}), {.max_steps = 5}, {&hook});
}

EarlyStoppingHook StopBelow(double threshold) {
  return {{.metric_name = "loss", .run_every_secs = std::nullopt, .run_every_steps = 1},
          [threshold](const EvalMetricsBySteps& metrics, Log& log) {
            return ThresholdCrossed(
                metrics, {.metric_name = "loss", .threshold = threshold, .higher_is_better = false},
                log);
          }};
}

}  // namespace

TEST_CASE("evaluations are read from all event files of a folder") {
  Evaluations evaluations;
  EventWriter more(evaluations.folder.path(), 1.1e9);
  more.Scalar(1.1e9, 3500, "loss", 0.5F);
  more.Scalar(1.1e9, 4000, "loss", 0.25F);
  more.String(1.1e9, 4500, "checkpoint_path", "model.ckpt-4500");
  more.Flush();
  const EvalMetricsBySteps metrics = evaluations.Read();
  CHECK(metrics.size() == 5);
  CHECK(metrics.at(3500).at("loss") == 0.5);
  CHECK(metrics.at(4000).at("loss") == 0.25);
  CHECK(metrics.at(1000).size() == 2);
  CHECK(ReadEvalMetrics(evaluations.folder.File("nowhere"), evaluations.home.log).empty());
}

TEST_CASE("of a damaged event file the good part counts, with a warning") {
  Evaluations evaluations;
  const std::string path = EventFiles(evaluations.folder.path()).front();
  std::string bytes = ReadFile(path);
  bytes[bytes.size() - 6] = static_cast<char>(~bytes[bytes.size() - 6]);
  WriteFileAtomically(path, bytes);
  CHECK(evaluations.Read().size() == 3);
  CHECK(evaluations.home.Logged(
      "Skipping rest of the file due to encountering data corruption error; file path: " + path));
}

TEST_CASE("stop_if_higher and stop_if_lower stop past their threshold") {
  Evaluations evaluations;
  const auto crossed = [&](const std::string& name, double threshold, bool higher,
                           int64_t min_steps) {
    return ThresholdCrossed(evaluations.Read(),
                            {.metric_name = name,
                             .threshold = threshold,
                             .higher_is_better = higher,
                             .min_steps = min_steps},
                            evaluations.home.log);
  };
  CHECK(!crossed("accuracy", 0.8, true, 0));
  CHECK(crossed("accuracy", 0.6, true, 0));
  CHECK(
      evaluations.home.lines.back().starts_with("At step 2000, metric \"accuracy\" has value "
                                                "0.6000000238418579 which is greater than the "
                                                "configured threshold (0.6) for early stopping."));
  CHECK(!crossed("accuracy", 0.6, true, 4000));
  CHECK(!crossed("loss", 0.3, false, 0));
  CHECK(crossed("loss", 0.5, false, 0));
  CHECK(!crossed("loss", 0.4000000059604645, false, 0));  // not strictly below
  const Error error = ErrorOf([&] { (void)crossed("auc", 0.5, true, 0); });
  CHECK(error.message() == "the evaluation at step 1000 has no metric 'auc'");
  CHECK(error.faults()[0].hint == "there are: accuracy, loss");
}

TEST_CASE("stop_if_no_increase and _decrease stop so many steps after the best evaluation") {
  Evaluations evaluations;
  const auto ended = [&](const std::string& name, int64_t steps, bool higher,
                         double min_delta = 0) {
    return ImprovementEnded(evaluations.Read(),
                            {.metric_name = name,
                             .max_steps_without_improvement = steps,
                             .higher_is_better = higher,
                             .min_delta = min_delta},
                            evaluations.home.log);
  };
  CHECK(!ended("accuracy", 1500, true));
  CHECK(ended("accuracy", 500, true));
  CHECK(evaluations.home.lines.back() ==
        "No increase in metric \"accuracy\" for 500 steps, which is greater than or equal to max "
        "steps (500) configured for early stopping.");
  CHECK(!ended("loss", 1500, false));
  CHECK(ended("loss", 500, false));
  CHECK(!ended("loss", 1001, false, 0.05));
  // A change of 0.1 or less is no improvement: 0.7 after 0.8 is none.
  CHECK(ended("loss", 1000, false, 0.15));
}

TEST_CASE("an evaluation past the step that the run goes on from does not count") {
  TemporaryFolder folder;
  Home home;
  EventWriter events(folder.File("eval"), 1e9);
  events.Scalar(1e9, 2, "loss", 0.1F);
  events.Flush();
  EarlyStoppingHook hook = StopBelow(0.5);
  const TrainResult result = TrainWith(home, folder.path(), hook);
  CHECK(result.global_step == 5);
}

TEST_CASE("an evaluation made during the run ends it") {
  TemporaryFolder folder;
  Home home;
  EventWriter events(folder.File("eval"), home.clock.WallSeconds());
  EarlyStoppingHook hook = StopBelow(0.5);
  class Write final : public SessionRunHook {
   public:
    Write(EventWriter& events, const Clock& clock) : events_(events), clock_(clock) {}
    void AfterRun(RunContext& /*context*/, const RunValues& values) override {
      if (values.global_step != 3) return;
      events_.Scalar(clock_.WallSeconds(), 3, "loss", 0.1F);
      events_.Flush();
    }

   private:
    EventWriter& events_;
    const Clock& clock_;
  } write(events, home.clock);
  EstimatorOptions options = Options(folder.path());
  options.run_config.tpu_config.iterations_per_loop = 1;
  const TrainResult result = Estimator(LinearModel(), options, home.get())
                                 .Train(RangeInput({}), {.max_steps = 5}, {&write, &hook});
  CHECK(result.global_step == 3);
  CHECK(result.stopped_because == "early_stopping");
  CHECK(home.Logged("Requesting early stopping at global step 3"));
}

TEST_CASE("an evaluation made during the run ends it although the clock was set back") {
  TemporaryFolder folder;
  Home home;
  EventWriter events(folder.File("eval"), 1e9);
  events.Scalar(3e9, 2, "loss", 0.1F);  // of an earlier run whose clock was ahead
  events.Flush();
  EarlyStoppingHook hook = StopBelow(0.5);
  class Write final : public SessionRunHook {
   public:
    explicit Write(EventWriter& events) : events_(events) {}
    void AfterRun(RunContext& /*context*/, const RunValues& values) override {
      if (values.global_step != 4) return;
      events_.Scalar(1, 4, "loss", 0.1F);
      events_.Flush();
    }

   private:
    EventWriter& events_;
  } write(events);
  EstimatorOptions options = Options(folder.path());
  options.run_config.tpu_config.iterations_per_loop = 1;
  const TrainResult result = Estimator(LinearModel(), options, home.get())
                                 .Train(RangeInput({}), {.max_steps = 5}, {&write, &hook});
  CHECK(result.global_step == 4);
  CHECK(result.stopped_because == "early_stopping");
}

TEST_CASE("a run that was cut before an evaluation ended it ends where it goes on") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path());
  options.run_config.tpu_config.iterations_per_loop = 1;
  Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 3});
  EventWriter events(folder.File("eval"), 1e9);
  events.Scalar(1e9, 3, "loss", 0.1F);
  events.Flush();
  EarlyStoppingHook hook = StopBelow(0.5);
  const TrainResult result = Estimator(LinearModel(), options, home.get())
                                 .Train(RangeInput({}), {.max_steps = 5}, {&hook});
  CHECK(result.global_step == 3);
  CHECK(result.stopped_because == "early_stopping");
  CHECK(!home.Logged("made no steps"));
}

TEST_CASE("a metric that is not there ends the run after the first evaluation, with the names") {
  TemporaryFolder folder;
  Home home;
  EventWriter events(folder.File("eval"), home.clock.WallSeconds());
  class Evaluate final : public CheckpointSaverListener {
   public:
    Evaluate(EventWriter& events, const Clock& clock) : events_(events), clock_(clock) {}
    std::optional<std::string> AfterSave(int64_t step) override {
      if (step == 0) return std::nullopt;
      events_.Scalar(clock_.WallSeconds(), step, "loss", 0.1F);
      events_.Flush();
      return std::nullopt;
    }

   private:
    EventWriter& events_;
    const Clock& clock_;
  } evaluate(events, home.clock);
  EarlyStoppingOptions late{.metric_name = "los", .min_steps = 1000};
  EarlyStoppingHook hook(late, [](const EvalMetricsBySteps&, Log&) { return false; });
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_checkpoints_steps = 2;
  Estimator estimator(LinearModel(), options, home.get());
  const Error error = ErrorOf([&] {
    (void)estimator.Train(RangeInput({}), {.max_steps = 9}, TrainHooks({&hook}, {&evaluate}));
  });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.message() == "the evaluation at step 2 has no metric 'los'");
  CHECK(error.faults()[0].hint == "there are: loss");
}

}  // namespace tpuest
