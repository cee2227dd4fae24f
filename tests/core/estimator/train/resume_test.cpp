#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/events/event_reader.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

struct Setup {
  int64_t iterations_per_loop = 2;
  int64_t save_every = 4;
  int shards = 2;
  int threads = 1;
  TrainLength length = {.max_steps = 20};
};

EstimatorOptions OptionsOf(const std::string& model_dir, const Setup& setup) {
  EstimatorOptions options = Options(model_dir, setup.shards, 8);
  options.run_config.save_checkpoints_steps = setup.save_every;
  options.run_config.tpu_config.iterations_per_loop = setup.iterations_per_loop;
  options.run_config.session_config.intra_op_parallelism_threads = setup.threads;
  options.run_config.log_step_count_steps = 1;
  return options;
}

// Runs to the end, or to the first loop that ends at `die_at` or later, and then behaves like a
// killed process: nothing more is written.
void Run(const std::string& model_dir, const Setup& setup, std::optional<int64_t> die_at = {}) {
  Home home;
  Estimator estimator(LinearModel(), OptionsOf(model_dir, setup), home.get());
  struct Killed {};
  AfterEachLoop kill([&](RunContext& /*context*/, const RunValues& values) {
    if (die_at && values.global_step >= *die_at) throw Killed();
  });
  try {
    estimator.Train(RangeInput({.count = 50}), setup.length, {&kill});
  } catch (const Killed&) {
  }
}

std::string Uninterrupted(const Setup& setup) {
  TemporaryFolder folder;
  Run(folder.path(), setup);
  return CheckpointBytes(*LatestCheckpoint(folder.path()));
}

// Preempts a run at a step, even within loops.
class StopAt final : public ProgressListener {
 public:
  StopAt(StopSignal& stop, std::optional<int64_t> step) : stop_(stop), step_(step) {}
  void Report(const ProgressReport& report) override {
    if (step_ && report.step >= *step_) stop_.Request(StopSignal::Kind::kPreempted);
  }

 private:
  StopSignal& stop_;
  std::optional<int64_t> step_;
};

TrainResult TrainUntil(std::optional<int64_t> stop_at, const EstimatorOptions& options,
                       const RangeOptions& input, const TrainLength& length) {
  Home home;
  StopAt stop(home.stop, stop_at);
  EstimatorHome estimator_home = home.get();
  estimator_home.progress = &stop;
  Estimator estimator(LinearModel(), options, estimator_home);
  return estimator.Train(RangeInput(input), length);
}

}  // namespace

TEST_CASE("the last checkpoint does not depend on loops, saves and threads") {
  const std::string reference = Uninterrupted({});
  for (const int64_t iterations_per_loop : {1, 3, 7, 100}) {
    CAPTURE(iterations_per_loop);
    CHECK(Uninterrupted({.iterations_per_loop = iterations_per_loop}) == reference);
  }
  CHECK(Uninterrupted({.save_every = 1}) == reference);
  CHECK(Uninterrupted({.threads = 2}) == reference);
  CHECK(Uninterrupted({.length = {.max_steps = 19}}) != reference);
}

TEST_CASE("a run that is killed anywhere and run again ends with the same bytes") {
  const std::string reference = Uninterrupted({});
  for (const int64_t die_at : {1, 3, 4, 9, 18, 20}) {
    for (const int64_t iterations_per_loop : {1, 2, 7}) {
      CAPTURE(die_at);
      CAPTURE(iterations_per_loop);
      TemporaryFolder folder;
      const Setup setup{.iterations_per_loop = iterations_per_loop};
      Run(folder.path(), setup, die_at);
      Run(folder.path(), setup, die_at + 6);
      Run(folder.path(), {});
      CHECK(CheckpointBytes(folder.File("model.ckpt-20")) == reference);
    }
  }
}

TEST_CASE("interrupted `steps` continue to the same step; a complete run starts the next") {
  const Setup setup{.length = {.steps = 10}};
  const std::string reference = Uninterrupted(setup);
  TemporaryFolder folder;
  Run(folder.path(), setup, 6);
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-4"));
  Run(folder.path(), setup);
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-10"));
  CHECK(CheckpointBytes(folder.File("model.ckpt-10")) == reference);
  Run(folder.path(), setup);
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-20"));
  SUBCASE("another number of steps is another goal") {
    Run(folder.path(), setup, 26);
    CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-24"));
    Run(folder.path(), {.length = {.steps = 5}});
    CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-29"));
  }
}

TEST_CASE("a preempted run resumes to the same bytes") {
  const std::string reference = Uninterrupted({});
  TemporaryFolder folder;
  for (int tries = 0; tries < 20; ++tries) {
    Home home;
    Estimator estimator(LinearModel(), OptionsOf(folder.path(), {.iterations_per_loop = 3}),
                        home.get());
    AfterEachLoop stop([&](RunContext& /*context*/, const RunValues& /*values*/) {
      home.stop.Request(StopSignal::Kind::kPreempted);
    });
    const TrainResult result =
        estimator.Train(RangeInput({.count = 50}), {.max_steps = 20}, {&stop});
    if (result.exit_code == 0) break;
    CHECK(result.exit_code == 75);
  }
  CHECK(CheckpointBytes(folder.File("model.ckpt-20")) == reference);
}

TEST_CASE("a preempted run has the same checkpoints as a run that was not stopped") {
  const auto train = [](const std::string& model_dir, int64_t iterations_per_loop, bool use_tpu,
                        std::optional<int64_t> stop_at) {
    EstimatorOptions options =
        OptionsOf(model_dir, {.iterations_per_loop = iterations_per_loop, .save_every = 7});
    options.use_tpu = use_tpu;
    options.run_config.keep_checkpoint_max = 3;
    return TrainUntil(stop_at, options, {.count = 50}, {.max_steps = 40}).exit_code;
  };
  for (const bool use_tpu : {false, true}) {
    for (const int64_t iterations_per_loop : {1, 3, 5, 100}) {
      CAPTURE(use_tpu);
      CAPTURE(iterations_per_loop);
      TemporaryFolder whole;
      CHECK(train(whole.path(), iterations_per_loop, use_tpu, {}) == 0);
      TemporaryFolder cut;
      for (const int64_t stop_at : {2, 4, 11, 14, 16, 30}) {
        if (train(cut.path(), iterations_per_loop, use_tpu, stop_at) == 0) break;
      }
      CHECK(train(cut.path(), iterations_per_loop, use_tpu, {}) == 0);
      CHECK(ReadFile(cut.File("checkpoint")) == ReadFile(whole.File("checkpoint")));
      CHECK(ListDirectory(cut.path()).size() - EventFiles(cut.path()).size() ==
            ListDirectory(whole.path()).size() - EventFiles(whole.path()).size());
      const std::optional<CheckpointState> state = ReadCheckpointState(whole.path());
      for (const std::string& prefix : state->all_model_checkpoint_paths) {
        CHECK(CheckpointBytes(cut.File(BaseName(prefix))) == CheckpointBytes(prefix));
      }
    }
  }
}

TEST_CASE("a run preempted before it knows that its input has ended, ends when it resumes") {
  const auto train = [](const std::string& model_dir, std::optional<int64_t> stop_at) {
    EstimatorOptions options = OptionsOf(model_dir, {});
    options.use_tpu = false;
    options.run_config.keep_checkpoint_max = 2;
    return TrainUntil(stop_at, options, {.count = 50, .repeat = 1}, {.unfinished_since = 0});
  };
  TemporaryFolder whole;
  CHECK(train(whole.path(), {}).global_step == 7);
  for (int64_t stop_at = 1; stop_at <= 7; ++stop_at) {
    CAPTURE(stop_at);
    TemporaryFolder cut;
    CHECK(train(cut.path(), stop_at).exit_code == 75);
    CHECK(train(cut.path(), stop_at == 7 ? 7 : 8).exit_code == 0);
    for (int again = 0; again < 2; ++again) {
      CHECK(ReadFile(cut.File("checkpoint")) == ReadFile(whole.File("checkpoint")));
      CHECK(CheckpointBytes(cut.File("model.ckpt-7")) ==
            CheckpointBytes(whole.File("model.ckpt-7")));
      // Like a run that was killed before it recorded that it is complete.
      CHECK(train(cut.path(), {}).stopped_because == "end of input");
    }
  }
}

TEST_CASE("a preemption checkpoint does not count among those kept") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = OptionsOf(folder.path(), {.save_every = 4});
  options.run_config.keep_checkpoint_max = 1;
  Estimator estimator(LinearModel(), options, home.get());
  AfterEachLoop stop([&](RunContext& /*context*/, const RunValues& values) {
    if (values.global_step == 6) home.stop.Request(StopSignal::Kind::kPreempted);
  });
  CHECK(estimator.Train(RangeInput({.count = 50}), {.max_steps = 20}, {&stop}).exit_code == 75);
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-6"));
  CHECK(LatestRegularCheckpoint(folder.path()) == folder.File("model.ckpt-4"));
  CHECK(ReadCheckpointState(folder.path())->all_model_checkpoint_paths ==
        std::vector{folder.File("model.ckpt-4"), folder.File("model.ckpt-6")});
  Run(folder.path(), {.length = {.max_steps = 8}});
  CHECK(CheckpointExists(folder.File("model.ckpt-4")));  // this run keeps more
  CHECK(!CheckpointExists(folder.File("model.ckpt-6")));
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-8"));
}

TEST_CASE("a preemption checkpoint is removed with the next checkpoint, damaged or not") {
  const auto run = [](const std::string& model_dir, std::optional<int64_t> stop_at) {
    Home home;
    Estimator estimator(LinearModel(), OptionsOf(model_dir, {.save_every = 8}), home.get());
    AfterEachLoop stop([&](RunContext& /*context*/, const RunValues& values) {
      if (values.global_step == stop_at) home.stop.Request(StopSignal::Kind::kPreempted);
    });
    return estimator.Train(RangeInput({.count = 50}), {.max_steps = 20}, {&stop}).exit_code;
  };
  TemporaryFolder whole;
  CHECK(run(whole.path(), {}) == 0);
  for (const bool damages_index : {false, true}) {
    for (const std::optional<int64_t> second_stop : {std::optional<int64_t>(), {10}, {14}}) {
      CAPTURE(damages_index);
      CAPTURE(second_stop.value_or(0));
      TemporaryFolder folder;
      CHECK(run(folder.path(), 12) == 75);
      const std::string extra = folder.File("model.ckpt-12");
      const std::string path = damages_index ? BundleIndexPath(extra) : BundleDataPath(extra, 0, 1);
      std::string bytes = ReadFile(path);
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
      WriteFileAtomically(path, bytes);
      if (second_stop) {
        CHECK(run(folder.path(), second_stop) == 75);
        CHECK(!CheckpointExists(extra));
      }
      CHECK(run(folder.path(), {}) == 0);
      CHECK(!CheckpointExists(extra));
      CHECK(!FileExists(RemovingPath(folder.path())));
      CHECK(ReadFile(folder.File("checkpoint")) == ReadFile(whole.File("checkpoint")));
      CHECK(ListDirectory(folder.path()).size() - EventFiles(folder.path()).size() ==
            ListDirectory(whole.path()).size() - EventFiles(whole.path()).size());
    }
  }
}

TEST_CASE("a state file with any bit wrong, or cut anywhere, leads to the newest checkpoint") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 20}});
  const std::string path = folder.File("checkpoint");
  const std::string good = ReadFile(path);
  const auto taken = [&](const std::string& bytes) {
    WriteFileAtomically(path, bytes, false);
    Log log;
    return LoadNewest(folder.path(), log)->global_step;
  };
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    CAPTURE(bit);
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    CHECK(taken(bytes) == 20);
  }
  for (size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(taken(good.substr(0, size)) == 20);
  }
}

TEST_CASE("a damaged state file causes a warning, and the resumed run rewrites it") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 8}});
  WriteFileAtomically(folder.File("checkpoint"), "", false);
  Home home;
  const std::string newest = folder.File("model.ckpt-8");
  CHECK(LoadNewest(folder.path(), home.log)->prefix == newest);
  CHECK(home.Logged("checkpoint: names no checkpoint; using " + newest));
  Run(folder.path(), {.length = {.max_steps = 9}}, 9);  // killed before its first save
  CHECK(LatestCheckpoint(folder.path()) == newest);
  // The newest shard is damaged as well, so the previous checkpoint is used.
  WriteFileAtomically(folder.File("checkpoint"), "", false);
  WriteFileAtomically(BundleDataPath(newest, 0, 1), "short");
  CHECK(LoadNewest(folder.path(), home.log)->prefix == folder.File("model.ckpt-4"));
  for (const int64_t step : {0, 4}) {
    WriteFileAtomically(BundleDataPath(folder.File(fmt::format("model.ckpt-{}", step)), 0, 1), "");
  }
  const Error error = ErrorOf([&] { (void)LoadNewest(folder.path(), home.log); });
  CHECK(error.code() == Code::kCheckpoint);
  CHECK(error.message().find("none of the 3 checkpoints can be read") != std::string::npos);
  CHECK(error.faults()[0].hint.starts_with("restore the files"));
}

TEST_CASE("a finished run corrects a state file that lists another newest checkpoint") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 8}});
  const std::string path = folder.File("checkpoint");
  const std::string good = ReadFile(path);
  std::string bytes = good;
  const size_t last = bytes.rfind("model.ckpt-8");
  REQUIRE(last > bytes.find("model.ckpt-8"));
  bytes[last] = 'n';
  WriteFileAtomically(path, bytes, false);
  Run(folder.path(), {.length = {.max_steps = 8}});
  CHECK(ReadFile(path) == good);
}

TEST_CASE("a restored checkpoint is not written again") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 4}});
  // If the checkpoint were written again, it would have this file.
  const std::string meta = folder.File("model.ckpt-4.meta");
  CHECK(!FileExists(meta));
  Home home;
  EstimatorOptions options = OptionsOf(folder.path(), {});
  options.run_config.checkpoint_save_graph_def = true;
  Estimator(LinearModel(), options, home.get()).Train(RangeInput({.count = 50}), {.max_steps = 5});
  CHECK(!FileExists(meta));
  CHECK(FileExists(folder.File("model.ckpt-5.meta")));
  CHECK(home.Logged("Restoring parameters from " + folder.File("model.ckpt-4")));
}

TEST_CASE("a damaged newest checkpoint causes a warning, and the one before it is used") {
  const std::string reference = Uninterrupted({});
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 9}});
  const std::string data = BundleDataPath(folder.File("model.ckpt-9"), 0, 1);
  std::string bytes = ReadFile(data);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  WriteFileAtomically(data, bytes);
  Home home;
  Estimator estimator(LinearModel(), OptionsOf(folder.path(), {}), home.get());
  CHECK(estimator.Train(RangeInput({.count = 50}), {.max_steps = 20}).global_step == 20);
  CHECK(home.Logged("trying the checkpoint before it"));
  CHECK(home.Logged("Restoring parameters from " + folder.File("model.ckpt-8")));
  CHECK(CheckpointBytes(folder.File("model.ckpt-20")) == reference);
  SUBCASE("an evaluation of that checkpoint reports what is wrong") {
    WriteFileAtomically(BundleDataPath(folder.File("model.ckpt-20"), 0, 1), "short");
    const Error error = ErrorOf([&] {
      (void)estimator.Evaluate(RangeInput({.repeat = 1}),
                               {.checkpoint = folder.File("model.ckpt-20")});
    });
    CHECK(error.code() == Code::kCheckpoint);
  }
}

TEST_CASE("a missing newest checkpoint causes a warning, and the one before it is used") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 9}});
  RemoveFile(BundleIndexPath(folder.File("model.ckpt-9")));
  Home home;
  Estimator estimator(LinearModel(), OptionsOf(folder.path(), {}), home.get());
  CHECK(estimator.Evaluate(RangeInput({.repeat = 1})).global_step == 8);
  CHECK(home.Logged("model.ckpt-9.index: is missing"));
}

TEST_CASE("an error says that none of the checkpoints can be read") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 9}});
  for (const std::string& name : ListDirectory(folder.path())) {
    if (name.ends_with(".index")) WriteFileAtomically(folder.File(name), "");
  }
  Home home;
  Estimator estimator(LinearModel(), OptionsOf(folder.path(), {}), home.get());
  const Error error = ErrorOf([&] { (void)estimator.Evaluate(RangeInput({.repeat = 1})); });
  CHECK(error.code() == Code::kCheckpoint);
  CHECK(error.message().find("checkpoints can be read") != std::string::npos);
}

TEST_CASE("a run without a state file resumes with a warning") {
  TemporaryFolder folder;
  Run(folder.path(), {.length = {.max_steps = 9}});
  RemoveFile(folder.File("checkpoint"));
  Home home;
  Estimator estimator(LinearModel(), OptionsOf(folder.path(), {}), home.get());
  CHECK(estimator.Train(RangeInput({}), {.max_steps = 10}).global_step == 10);
  CHECK(home.Logged("checkpoint: is missing; using " + folder.File("model.ckpt-9")));
}

TEST_CASE("metrics.jsonl is cut to the restored step and then continued") {
  TemporaryFolder folder;
  Run(folder.path(), {.save_every = 4}, 6);
  Run(folder.path(), {.save_every = 4, .length = {.max_steps = 8}});
  std::vector<std::string> starts;
  std::string text = ReadFile(folder.File(".tpuest/metrics.jsonl"));
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    starts.push_back(text.substr(at, text.find(',', at) - at));
  }
  std::vector<std::string> expected;
  for (int step = 1; step <= 8; ++step) expected.push_back(fmt::format(R"({{"step":{})", step));
  CHECK(starts == expected);
}

TEST_CASE("metrics.jsonl contains a step before its checkpoint exists") {
  TemporaryFolder folder;
  MakeDirectories(BundleIndexPath(folder.File("model.ckpt-4")));  // blocks the checkpoint's path
  CHECK_THROWS_AS(Run(folder.path(), {.save_every = 4}), Error);
  const std::string text = ReadFile(folder.File(".tpuest/metrics.jsonl"));
  CHECK(text.find(R"({"step":4,)") != std::string::npos);
}

TEST_CASE("the seed of a run without tf_random_seed is drawn once and kept") {
  TemporaryFolder folder;
  const auto seed = [&](int64_t max_steps) {
    Home home;
    EstimatorOptions options = Options(folder.path());
    options.run_config.tf_random_seed.reset();
    Estimator estimator(LinearModel(), options, home.get());
    estimator.Train(RangeInput({}), {.max_steps = max_steps});
    CHECK(home.Logged("using the random seed") == (max_steps == 1));
    CHECK(estimator.options().run_config.tf_random_seed.has_value());
    return LoadCheckpoint(folder.path()).resume.seed;
  };
  const std::optional<uint64_t> first = seed(1);
  REQUIRE(first);
  CHECK(seed(2) == first);
}

TEST_CASE("a position and a goal survive a checkpoint") {
  const ResumePoint point{
      .seed = 0xFFFFFFFFFFFFFFFF, .position = {3, 41}, .goal = Goal{.step = 100, .steps = 60}};
  std::map<std::string, Tensor> tensors;
  for (const NamedTensor& entry : ResumeEntries(point)) tensors[entry.name] = entry.tensor;
  const ResumePoint back = ReadResumePoint(tensors);
  CHECK(back.seed == point.seed);
  CHECK(back.position == point.position);
  CHECK(back.goal == point.goal);
  CHECK(!ReadResumePoint({}).goal);
  CHECK(ReadResumePoint({}).position == StreamPosition());
}

}  // namespace tpuest
