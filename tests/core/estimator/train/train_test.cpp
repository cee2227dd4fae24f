#include <algorithm>

#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/events/event_reader.h"
#include "core/ops/array.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// The global step after each loop of a run of `length`.
std::vector<int64_t> LoopEnds(const std::string& model_dir, int64_t iterations_per_loop,
                              const TrainLength& length) {
  Home home;
  EstimatorOptions options = Options(model_dir, 1);
  options.run_config.tpu_config.iterations_per_loop = iterations_per_loop;
  Estimator estimator(LinearModel(), options, home.get());
  std::vector<int64_t> ends;
  AfterEachLoop hook([&](RunContext& /*context*/, const RunValues& values) {
    ends.push_back(values.global_step);
  });
  estimator.Train(RangeInput({}), length, {&hook});
  return ends;
}

using Steps = std::vector<int64_t>;

std::vector<std::string> CheckpointNames(const std::string& model_dir) {
  std::vector<std::string> names;
  for (const auto& [step, prefix] : CheckpointsIn(model_dir)) names.push_back(BaseName(prefix));
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a loop takes iterations_per_loop steps, the last one the remaining steps") {
  TemporaryFolder folder;
  CHECK(LoopEnds(folder.File("a"), 4, {.steps = 10}) == Steps{4, 8, 10});
  CHECK(LoopEnds(folder.File("b"), 5, {.steps = 10}) == Steps{5, 10});
  CHECK(LoopEnds(folder.File("c"), 40, {.steps = 12}) == Steps{12});
}

TEST_CASE("steps count from the checkpoint, max_steps from step 0") {
  TemporaryFolder folder;
  CHECK(LoopEnds(folder.File("a"), 4, {.steps = 3}) == Steps{3});
  CHECK(LoopEnds(folder.File("a"), 4, {.steps = 10}) == Steps{7, 11, 13});
  CHECK(LoopEnds(folder.File("b"), 4, {.steps = 3}) == Steps{3});
  CHECK(LoopEnds(folder.File("b"), 4, {.max_steps = 10}) == Steps{7, 10});
}

TEST_CASE("a run that reached max_steps is complete, and nothing of it changes") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  CHECK(estimator.Train(RangeInput({}), {.max_steps = 5}).stopped_because == "max_steps");
  const std::string before = ReadFile(folder.File("checkpoint"));
  const TrainResult again = estimator.Train(RangeInput({}), {.max_steps = 5});
  CHECK(again.global_step == 5);
  CHECK(again.stopped_because == "already at max_steps");
  CHECK(again.exit_code == 0);
  CHECK(home.Logged("Skipping training since max_steps has already saved."));
  CHECK(ReadFile(folder.File("checkpoint")) == before);
  CHECK(estimator.Train(RangeInput({}), {.max_steps = 6}).global_step == 6);
}

TEST_CASE("checkpoints are written at the start, at ends of loops and at the end") {
  const auto saved = [](int64_t per_loop, int64_t every, int64_t max_steps) {
    TemporaryFolder folder;
    Home home;
    EstimatorOptions options = Options(folder.path(), 1);
    options.run_config.tpu_config.iterations_per_loop = per_loop;
    options.run_config.save_checkpoints_steps = every;
    options.run_config.keep_checkpoint_max = 0;
    Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = max_steps});
    return CheckpointNames(folder.path());
  };
  CHECK(saved(5, 10, 20) == Names{"model.ckpt-0", "model.ckpt-10", "model.ckpt-20"});
  CHECK(saved(5, 12, 30) == Names{"model.ckpt-0", "model.ckpt-15", "model.ckpt-30"});
  CHECK(saved(4, 2, 8) == Names{"model.ckpt-0", "model.ckpt-4", "model.ckpt-8"});
  CHECK(saved(2, 1000, 3) == Names{"model.ckpt-0", "model.ckpt-3"});
}

TEST_CASE("checkpoints are written by the clock if seconds are given") {
  TemporaryFolder folder;
  Home home;
  home.clock.tick = 1;  // seconds per read of the clock
  EstimatorOptions options = Options(folder.path(), 1);
  options.run_config.save_checkpoints_steps.reset();
  options.run_config.save_checkpoints_secs = 1;
  Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 6});
  CHECK(CheckpointNames(folder.path()) ==
        Names{"model.ckpt-0", "model.ckpt-2", "model.ckpt-4", "model.ckpt-6"});
}

TEST_CASE("without save_checkpoints_steps and save_checkpoints_secs no checkpoint is saved") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_checkpoints_steps.reset();
  options.run_config.save_checkpoints_secs.reset();
  const TrainResult result =
      Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 3});
  CHECK(result.global_step == 3);
  CHECK(result.checkpoint.empty());
  CHECK(!FileExists(folder.File("checkpoint")));
}

TEST_CASE("the end of the input ends a run without TPU") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const InputFn once = RangeInput({.count = 10, .repeat = 1});
  const TrainResult result = estimator.Train(once, {.max_steps = 100});
  CHECK(result.stopped_because == "end of input");
  CHECK(result.global_step == 3);  // 4, 4 and 2 examples
  CHECK(result.checkpoint == folder.File("model.ckpt-3"));
  SUBCASE("and the next run reads it again") { CHECK(estimator.Train(once, {}).global_step == 6); }
}

TEST_CASE("the end of the input is an error on TPU, and the trained steps are saved") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path(), 2), home.get());
  const Error error =
      ErrorOf([&] { estimator.Train(RangeInput({.count = 12, .repeat = 1}), {.max_steps = 10}); });
  CHECK(error.code() == Code::kData);
  CHECK(error.message() ==
        "End of sequence: the input of train ended after step 3, before step 10");
  CHECK(error.faults()[0].hint.starts_with("repeat: -1"));
  CHECK(estimator.LatestCheckpoint() == folder.File("model.ckpt-3"));
}

TEST_CASE("a short batch is an error on TPU") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path(), 2), home.get());
  const Error error =
      ErrorOf([&] { estimator.Train(RangeInput({.count = 6, .repeat = 1}), {.max_steps = 10}); });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.message() ==
        "The features to the model returned by input_fn must have static shape. Tensor: a batch "
        "of 2 examples, expected 4");
}

TEST_CASE("an empty input runs no steps, with a warning") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const TrainResult result = estimator.Train(RangeInput({.count = 0, .repeat = 1}), {});
  CHECK(result.global_step == 0);
  CHECK(!result.loss);
  CHECK(home.Logged(
      "Training with estimator made no steps. Perhaps input is empty or misspecified."));
  CHECK(home.Logged("Loss for final step: None."));
}

TEST_CASE("a batch that does not divide by the replicas is refused before anything runs") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path(), 4, 6), home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); });
  CHECK(error.message() == "train batch size 6 must be divisible by number of replicas 4");
  CHECK(error.faults()[0].key == "train_batch_size");
}

TEST_CASE("a loss that is not a number ends the run before its update") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_checkpoints_steps = 2;
  Estimator estimator(LinearModel(), options, home.get());
  // The fourth batch has the bad label.
  const Error error = ErrorOf(
      [&] { estimator.Train(RangeInput({.count = 100, .nan_at = 13}), {.max_steps = 10}); });
  CHECK(error.code() == Code::kDiverged);
  CHECK(error.message() == "Model diverged with loss = NaN.");
  CHECK(error.faults()[0].hint.find("step 4 was not applied") != std::string::npos);
  CHECK(estimator.LatestCheckpoint() == folder.File("model.ckpt-2"));
}

TEST_CASE("a signal saves and ends the run, also inside a loop") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path(), 1);
  options.run_config.tpu_config.iterations_per_loop = 1000000;
  class StopAt final : public ProgressListener {
   public:
    explicit StopAt(StopSignal& stop) : stop_(stop) {}
    void Report(const ProgressReport& /*report*/) override {
      stop_.Request(StopSignal::Kind::kPreempted);
    }

   private:
    StopSignal& stop_;
  } stop_at(home.stop);
  EstimatorHome estimator_home = home.get();
  estimator_home.progress = &stop_at;
  Estimator estimator(LinearModel(), options, estimator_home);
  const TrainResult result = estimator.Train(RangeInput({}), {.max_steps = 1000000});
  CHECK(result.stopped_because == "preempted");
  CHECK(result.exit_code == 75);
  CHECK(result.global_step > 0);
  CHECK(result.global_step < 1000);
  CHECK(result.checkpoint == folder.File(fmt::format("model.ckpt-{}", result.global_step)));
}

TEST_CASE("Ctrl-C exits with another code than a preemption") {
  TemporaryFolder folder;
  Home home;
  home.stop.Request(StopSignal::Kind::kInterrupted);
  home.stop.Request(StopSignal::Kind::kPreempted);  // the first request counts
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const TrainResult result = estimator.Train(RangeInput({}), {.max_steps = 10});
  CHECK(result.stopped_because == "interrupted");
  CHECK(result.exit_code == 130);
  CHECK(result.global_step == 0);
}

TEST_CASE("two processes cannot train in one model_dir") {
  TemporaryFolder folder;
  MakeDirectories(folder.File(".tpuest"));
  const auto lock = FileLock::TryAcquire(folder.File(".tpuest/lock"));
  REQUIRE(lock != nullptr);
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.faults()[0].key == "run_config.model_dir");
}

TEST_CASE("the error for a file at model_dir's path names the option") {
  TemporaryFolder folder;
  WriteFileAtomically(folder.File("runs"), "not a folder");
  Home home;
  Estimator estimator(LinearModel(), Options(folder.File("runs/a")), home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.faults()[0].key == "run_config.model_dir");
}

TEST_CASE("a job that cannot run leaves no files") {
  TemporaryFolder folder;
  Home home;
  const std::string model_dir = folder.File("runs/a");
  SUBCASE("because of its model") {
    Estimator estimator(LinearModel({.loss_scale = 1}), Options(model_dir, 2, 3), home.get());
    CHECK(ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); }).code() ==
          Code::kUsage);
  }
  SUBCASE("because of its input") {
    const InputFn input = [](const InputContext& /*context*/) -> std::unique_ptr<BatchStream> {
      throw Error(Code::kData, "no such file");
    };
    Estimator estimator(LinearModel(), Options(model_dir), home.get());
    CHECK(ErrorOf([&] { estimator.Train(input, {.max_steps = 1}); }).code() == Code::kData);
  }
  SUBCASE("because of what it starts from") {
    EstimatorOptions options = Options(model_dir);
    options.warm_start_from = folder.File("missing");
    Estimator estimator(LinearModel(), options, home.get());
    CHECK(ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); }).code() ==
          Code::kCheckpoint);
  }
  CHECK(!DirectoryExists(folder.File("runs")));
}

TEST_CASE("a temporary model_dir that stays empty is removed") {
  Home home;
  EstimatorOptions options = Options("");
  options.run_config.model_dir.reset();
  std::string model_dir;
  {
    const Estimator estimator(LinearModel(), options, home.get());
    model_dir = estimator.model_dir();
    CHECK(DirectoryExists(model_dir));
  }
  CHECK(!DirectoryExists(model_dir));
}

TEST_CASE("without model_dir a temporary folder is created and logged") {
  Home home;
  EstimatorOptions options = Options("");
  options.run_config.model_dir.reset();
  const Estimator estimator(LinearModel(), options, home.get());
  CHECK(DirectoryExists(estimator.model_dir()));
  CHECK(home.Logged("Using temporary folder as model directory: " + estimator.model_dir()));
}

TEST_CASE("events hold the loss, rates and what TensorBoard needs after a restart") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_summary_steps = 2;
  options.run_config.log_step_count_steps = 3;
  options.run_config.checkpoint_save_graph_def = true;
  Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 6});
  const std::vector<std::string> files = EventFiles(folder.path());
  REQUIRE(files.size() == 1);
  std::vector<std::string> seen;
  for (const EventData& event : ReadEvents(files[0])) {
    if (event.kind == EventData::Kind::kGraph) seen.push_back("graph");
    if (event.kind == EventData::Kind::kSessionLog) {
      seen.push_back(
          fmt::format("session {} at {}", static_cast<int>(event.session_log.status), event.step));
    }
    for (const SummaryValue& value : event.values) {
      seen.push_back(fmt::format("{} at {}", value.tag, event.step));
    }
  }
  for (const char* const expected :
       {"graph", "session 3 at 0", "session 1 at 1", "loss at 1", "learning_rate at 1", "bias at 1",
        "loss at 3", "loss at 5", "global_step/sec at 4", "examples/sec at 4", "session 3 at 6"}) {
    CAPTURE(expected);
    CHECK(std::find(seen.begin(), seen.end(), expected) != seen.end());
  }
  CHECK(std::find(seen.begin(), seen.end(), "loss at 2") == seen.end());
  CHECK(FileExists(folder.File("graph.pbtxt")));
  CHECK(FileExists(folder.File("model.ckpt-6.meta")));
}

TEST_CASE("a model_fn must return what its mode needs") {
  TemporaryFolder folder;
  Home home;
  const auto message = [&](const ModelFn& model_fn) {
    Estimator estimator(model_fn, Options(folder.path(), 2), home.get());
    return ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 1}); }).message();
  };
  const ModelFn good = LinearModel();
  const auto with = [&](const std::function<void(TPUEstimatorSpec&)>& change) -> ModelFn {
    return
        [&good, change](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
          TPUEstimatorSpec spec = good(graph, inputs, mode, params);
          change(spec);
          return spec;
        };
  };
  CHECK(message(with([](auto& spec) { spec.loss = {}; })) == "Missing loss.");
  CHECK(message(with([](auto& spec) { spec.train_op = nullptr; })) == "Missing train_op.");
  CHECK(message(with([](auto& spec) {
          spec.loss = spec.predictions["y"];
        })).starts_with("Loss must be scalar, given: "));
  const ModelFn without_sum = [&good](Graph& graph, const ModelInputs& inputs, Mode mode,
                                      const Params& params) {
    return good(graph, inputs, mode, {.batch_size = params.batch_size, .replicas = 1});
  };
  CHECK(message(without_sum) == "CrossShardOptimizer must be used for model training on TPUs.");
}

TEST_CASE("a train_op that does not increase global_step, and a missing model_fn, are refused") {
  TemporaryFolder folder;
  Home home;
  const ModelFn stands_still = [](Graph& graph, const ModelInputs& inputs, Mode mode,
                                  const Params& params) {
    TPUEstimatorSpec spec = LinearModel()(graph, inputs, mode, params);
    spec.train_op = ops::NoOp(graph, {}, "nothing");
    return spec;
  };
  Estimator estimator(stands_still, Options(folder.path()), home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 2}); });
  CHECK(error.message().starts_with(
      "It seems that global step (tf.train.get_global_step) has not been increased. Current value "
      "(could be stable): 0 vs previous value: 0."));
  const Error none = ErrorOf([&] { Estimator(ModelFn(), Options(folder.path()), home.get()); });
  CHECK(none.message() == "model_fn must be provided to Estimator.");
  CHECK(none.code() == Code::kUsage);
}

}  // namespace tpuest
