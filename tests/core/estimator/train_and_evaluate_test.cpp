#include "core/estimator/train_and_evaluate.h"

#include <algorithm>
#include <map>

#include "core/estimator/export/serving.h"
#include "core/estimator/model_dir/evaluations.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

EstimatorOptions EvaluatingEvery(const std::string& model_dir, int64_t steps) {
  EstimatorOptions options = Options(model_dir);
  options.run_config.save_checkpoints_steps = steps;
  return options;
}

const InputFn kEvalInput = RangeInput({.count = 6, .repeat = 1});

EvalTask Task(double throttle_secs = 0, std::optional<int64_t> every_steps = {}) {
  return {.label = "eval",
          .input_fn = kEvalInput,
          .throttle_secs = throttle_secs,
          .every_steps = every_steps};
}

template <class Options>
ExporterTask Exporting(const std::string& name, Options options = {}) {
  options.name = name;
  ExporterTask task{.options = options};
  task.args.input_receivers[Mode::kPredict] = RawServingInputReceiverFn(
      {.features = {{"i", DType::kInt64, {1}}, {"x", DType::kFloat, {1}}}}, std::nullopt);
  return task;
}

// The steps for which metrics.jsonl has an evaluation.
std::vector<int64_t> EvaluatedSteps(const std::string& model_dir, int64_t up_to) {
  std::vector<int64_t> steps;
  for (int64_t step = 0; step <= up_to; ++step) {
    if (!EvaluationAt(model_dir, "eval", step).empty()) steps.push_back(step);
  }
  return steps;
}

// The steps of the exports that an exporter keeps, oldest first.
std::vector<int64_t> ExportedSteps(const std::string& model_dir, const std::string& name) {
  std::vector<int64_t> steps;
  const std::string folder = JoinPath(JoinPath(model_dir, "export"), name);
  if (!DirectoryExists(folder)) return steps;
  for (const std::string& entry : ListDirectory(folder)) {
    const BundleReader reader(SavedModelVariables(JoinPath(folder, entry)));
    steps.push_back(static_cast<int64_t>(reader.Read("global_step").AsDouble(0)));
  }
  return steps;
}

using Steps = std::vector<int64_t>;

// TrainAndEvaluate of the linear model, saving every `save` steps.
struct CycleRun {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options;

  explicit CycleRun(int64_t save) : options(EvaluatingEvery(folder.path(), save)) {}
  TrainAndEvaluateResult To(int64_t max_steps, std::vector<EvalTask> tasks,
                            const TrainHooks& hooks = {}) {
    Estimator estimator(LinearModel(), options, home.get());
    return estimator.TrainAndEvaluate(RangeInput({}), {.max_steps = max_steps}, hooks,
                                      std::move(tasks));
  }
  [[nodiscard]] Steps Evaluated() const { return EvaluatedSteps(folder.path(), 100); }
  [[nodiscard]] Steps Exported(const std::string& name) const {
    return ExportedSteps(folder.path(), name);
  }
};

// Fails the run after this step, as if it were killed there.
class KillAt final : public SessionRunHook {
 public:
  explicit KillAt(int64_t step) : step_(step) {}
  void AfterRun(RunContext& /*context*/, const RunValues& values) override {
    if (values.global_step >= step_) throw std::runtime_error("killed");
  }

 private:
  int64_t step_;
};

// Fails as if the run were killed between a checkpoint and the work that follows it.
class KillAfterSave final : public CheckpointSaverListener {
 public:
  explicit KillAfterSave(int64_t step) : step_(step) {}
  std::optional<std::string> AfterSave(int64_t step) override {
    if (step == step_) throw std::runtime_error("killed");
    return std::nullopt;
  }

 private:
  int64_t step_;
};

}  // namespace

TEST_CASE("each checkpoint but the first is evaluated, and exported finally once") {
  CycleRun run(10);
  EvalTask task = Task();
  task.exporters = {Exporting<LatestExporterOptions>("latest"),
                    Exporting<FinalExporterOptions>("final")};
  const TrainAndEvaluateResult result = run.To(22, {task});
  CHECK(run.Evaluated() == Steps{10, 20, 22});
  CHECK(run.Exported("latest") == Steps{10, 20, 22});
  CHECK(run.Exported("final") == Steps{22});
  CHECK(result.train.global_step == 22);
  CHECK(result.evaluations.at("eval").global_step == 22);
  CHECK(result.exports.size() == 2);
  CHECK(run.home.Logged("Running training and evaluation locally (non-distributed)."));
  CHECK(
      run.home.Logged("Start train and evaluate loop. The evaluate will happen after every "
                      "checkpoint. Checkpoint frequency is determined based on RunConfig "
                      "arguments: save_checkpoints_steps 10 or save_checkpoints_secs None."));
  CHECK(run.home.Logged("Performing the final export in the end of training."));
}

TEST_CASE("a run of 12 steps that saves every 10 is evaluated twice") {
  CycleRun run(10);
  (void)run.To(12, {Task()});
  CHECK(run.Evaluated() == Steps{10, 12});
}

TEST_CASE("throttle_secs skips checkpoints between the first evaluation and the end") {
  CycleRun run(10);
  (void)run.To(32, {Task(600)});
  CHECK(run.Evaluated() == Steps{10, 32});
  CHECK(run.home.Logged("Skip the current checkpoint eval due to throttle secs (600 secs)."));
}

TEST_CASE("throttle_secs counts from where the last evaluation began") {
  CycleRun run(10);
  double& tick = run.home.clock.tick;
  // From step 25 on each read of the clock takes ten minutes.
  AfterEachLoop slow([&](RunContext& /*context*/, const RunValues& values) {
    tick = values.global_step < 25 ? 0.001 : 600;
  });
  (void)run.To(32, {Task(600)}, {&slow});
  CHECK(run.Evaluated() == Steps{10, 30, 32});
}

TEST_CASE("every_steps evaluates at the first checkpoint from each multiple on, and at the end") {
  CycleRun run(10);
  (void)run.To(62, {Task(0, 25)});
  CHECK(run.Evaluated() == Steps{30, 50, 62});
}

TEST_CASE("a run that is already at max_steps evaluates nothing") {
  CycleRun run(10);
  (void)run.To(22, {Task()});
  run.home.lines.clear();
  const TrainAndEvaluateResult again = run.To(22, {Task()});
  CHECK(again.evaluations.empty());
  CHECK(again.exports.empty());
  CHECK(!run.home.Logged("Starting evaluation"));
}

TEST_CASE("the checkpoint that another command left is not evaluated") {
  CycleRun run(10);
  Estimator estimator(LinearModel(), run.options, run.home.get());
  (void)estimator.Train(RangeInput({}), {.max_steps = 10});
  (void)run.To(22, {Task()});
  CHECK(run.Evaluated() == Steps{20, 22});
}

TEST_CASE("train_and_evaluate needs a run that saves") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.File("run"));
  options.run_config.save_checkpoints_steps.reset();
  options.run_config.save_checkpoints_secs.reset();
  Estimator estimator(LinearModel(), options, home.get());
  const Error error = ErrorOf(
      [&] { (void)estimator.TrainAndEvaluate(RangeInput({}), {.max_steps = 4}, {}, {Task()}); });
  CHECK(error.message().starts_with(
      "There should be a CheckpointSaverHook to use saving_listeners."));
}

TEST_CASE("an evaluation from memory equals that of the checkpoint, bit for bit") {
  for (const int shards : {0, 2}) {
    CAPTURE(shards);
    TemporaryFolder folder;
    Home home;
    EstimatorOptions options = Options(folder.path(), shards);
    options.run_config.save_checkpoints_steps = 5;
    Estimator estimator(LinearModel(), options, home.get());
    // Programs and metrics are reused.
    const TrainAndEvaluateResult result =
        estimator.TrainAndEvaluate(RangeInput({}), {.max_steps = 12}, {}, {Task()});
    const EvaluateResult from_memory = result.evaluations.at("eval");
    Estimator other(LinearModel(), options, home.get());
    const EvaluateResult from_disk = other.Evaluate(kEvalInput);
    CHECK(from_disk.global_step == 12);
    REQUIRE(from_memory.metrics.size() == from_disk.metrics.size());
    for (const auto& metric : from_disk.metrics) {
      const auto& [name, value] = metric;
      CAPTURE(metric.first);
      CHECK(value.data<float>()[0] == from_memory.metrics.at(name).data<float>()[0]);
    }
  }
}

TEST_CASE("each of several EvalSpecs is evaluated in its own folder") {
  CycleRun run(10);
  EvalTask test = Task();
  EvalTask train = Task(0, 20);
  test.label = test.args.name = "test";
  train.label = train.args.name = "train";
  const TrainAndEvaluateResult result = run.To(22, {test, train});
  CHECK(result.evaluations.size() == 2);
  CHECK(DirectoryExists(run.folder.File("eval_test")));
  CHECK(DirectoryExists(run.folder.File("eval_train")));
  CHECK(!EvaluationAt(run.folder.path(), "test", 10).empty());
  CHECK(EvaluationAt(run.folder.path(), "train", 10).empty());
  CHECK(!EvaluationAt(run.folder.path(), "train", 20).empty());
}

TEST_CASE(
    "a resumed run ends with the evaluations, exports and best of a run that was not stopped") {
  const auto tasks = [] {
    EvalTask task = Task();
    LatestExporterOptions latest;
    latest.exports_to_keep = 2;
    BestExporterOptions best;
    best.exports_to_keep = 2;
    best.compare = {.metric = "average_loss", .mode = "max"};
    task.exporters = {Exporting("latest", latest), Exporting("best", best)};
    return std::vector<EvalTask>{task};
  };
  const auto make = [] {
    auto run = std::make_unique<CycleRun>(10);
    run->options.run_config.keep_checkpoint_max = 1;
    run->options.run_config.keep_best =
        KeepBest{.metric = "average_loss", .mode = "max", .n = 2, .eval = {}};
    return run;
  };
  const auto whole = make();
  (void)whole->To(42, tasks());
  KillAt in_training(27);
  KillAfterSave before_evaluation(30);
  KillAfterSave before_last_evaluation(42);
  const std::vector<TrainHooks> kills = {TrainHooks{&in_training},
                                         TrainHooks{{}, {&before_evaluation}},
                                         TrainHooks{{}, {&before_last_evaluation}}};
  for (const TrainHooks& kill : kills) {
    const auto cut = make();
    CHECK_THROWS((void)cut->To(42, tasks(), kill));
    (void)cut->To(42, tasks());
    CHECK(cut->Evaluated() == whole->Evaluated());
    CHECK(cut->Exported("latest") == whole->Exported("latest"));
    CHECK(cut->Exported("best") == whole->Exported("best"));
    CHECK(ReadFile(cut->folder.File("best")) == ReadFile(whole->folder.File("best")));
    const std::string last = "model.ckpt-42";
    CHECK(CheckpointBytes(cut->folder.File(last)) == CheckpointBytes(whole->folder.File(last)));
    for (const int64_t step : whole->Evaluated()) {
      CHECK(EvaluationAt(cut->folder.path(), "eval", step) ==
            EvaluationAt(whole->folder.path(), "eval", step));
    }
  }
}

TEST_CASE("a stop request does not wait for an evaluation, which is repeated later") {
  CycleRun run(10);
  AfterEachLoop preempt([&](RunContext& /*context*/, const RunValues& values) {
    if (values.global_step == 18) run.home.stop.Request(StopSignal::Kind::kPreempted);
  });
  const TrainAndEvaluateResult stopped = run.To(42, {Task()}, {&preempt});
  CHECK(stopped.train.exit_code == 75);
  CHECK(run.Evaluated() == Steps{10});  // the run would not save at step 18
  Home fresh;
  Estimator estimator(LinearModel(), run.options, fresh.get());
  (void)estimator.TrainAndEvaluate(RangeInput({}), {.max_steps = 42}, {}, {Task()});
  CHECK(run.Evaluated() == Steps{10, 20, 30, 40, 42});
}

TEST_CASE(
    "a stop request between the last step and its evaluation ends the run, and that is repeated "
    "later") {
  CycleRun run(10);
  AfterEachLoop preempt([&](RunContext& /*context*/, const RunValues& values) {
    if (values.global_step == 42) run.home.stop.Request(StopSignal::Kind::kPreempted);
  });
  const auto again = [&](Home& home) {
    Estimator estimator(LinearModel(), run.options, home.get());
    return estimator.TrainAndEvaluate(RangeInput({}), {.max_steps = 42}, {}, {Task()}).train;
  };
  const TrainAndEvaluateResult stopped = run.To(42, {Task()}, {&preempt});
  CHECK(stopped.train.global_step == 42);
  CHECK(stopped.train.exit_code == 75);
  CHECK(stopped.train.stopped_because == "preempted");
  CHECK(run.Evaluated() == Steps{10, 20, 30, 40});
  Home hurried;
  hurried.stop.Request(StopSignal::Kind::kInterrupted);
  CHECK(again(hurried).exit_code == 130);
  Home fresh;
  CHECK(again(fresh).exit_code == 0);
  CHECK(run.Evaluated() == Steps{10, 20, 30, 40, 42});
  Home late;
  late.stop.Request(StopSignal::Kind::kPreempted);
  CHECK(again(late).exit_code == 0);
}

}  // namespace tpuest
