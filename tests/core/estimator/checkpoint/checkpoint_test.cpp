#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

TrainResult TrainTo(const ModelFn& model_fn, const EstimatorOptions& options, int64_t max_steps) {
  Home home;
  return Estimator(model_fn, options, home.get()).Train(RangeInput({}), {.max_steps = max_steps});
}

// Steps of the checkpoints in the folder.
std::vector<int64_t> StepsOnDisk(const std::string& folder) {
  std::vector<int64_t> steps;
  for (const std::string& name : ListDirectory(folder)) {
    if (name.ends_with(".index")) {
      steps.push_back(*StepOfCheckpoint(name.substr(0, name.size() - 6)));
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

using Steps = std::vector<int64_t>;

}  // namespace

TEST_CASE("a checkpoint holds variables, slots and global_step under TensorFlow's names") {
  TemporaryFolder folder;
  const TrainResult result = TrainTo(LinearModel(), Options(folder.path()), 3);
  const BundleReader reader(result.checkpoint);
  CHECK(reader.Names() == std::vector<std::string>{"dense/bias", "dense/bias/Momentum",
                                                   "dense/kernel", "dense/kernel/Momentum",
                                                   "global_step", "noise", "tpuest/seed",
                                                   "tpuest/seed_rule", "tpuest/stream_position"});
  CHECK(reader.DTypeOf("global_step") == DType::kInt64);
  CHECK(*reader.Read("global_step").data<int64_t>() == 3);
}

TEST_CASE(
    "checkpoint_format may change between runs, and the bytes are those of the uninterrupted run") {
  const auto bytes = [](const std::vector<std::string>& formats) {
    TemporaryFolder folder;
    EstimatorOptions options = Options(folder.path());
    int64_t steps = 4 - static_cast<int64_t>(formats.size());
    for (const std::string& format : formats) {
      options.run_config.checkpoint_format = format;
      TrainTo(LinearModel(), options, ++steps);
    }
    return CheckpointBytes(folder.File("model.ckpt-4"));
  };
  const std::string by_name = bytes({"saver"});
  const std::string by_object = bytes({"checkpoint"});
  CHECK(by_name != by_object);
  CHECK(bytes({"checkpoint", "checkpoint"}) == by_object);
  CHECK(bytes({"saver", "checkpoint"}) == by_object);
  CHECK(bytes({"checkpoint", "saver", "checkpoint", "saver"}) == by_name);
}

TEST_CASE("the state file names checkpoints relative to the folder, which may be moved") {
  TemporaryFolder folder;
  TrainTo(LinearModel(), Options(folder.File("a")), 5);
  CHECK(ReadFile(folder.File("a/checkpoint")) ==
        "model_checkpoint_path: \"model.ckpt-5\"\n"
        "all_model_checkpoint_paths: \"model.ckpt-0\"\n"
        "all_model_checkpoint_paths: \"model.ckpt-5\"\n");
  std::filesystem::rename(folder.File("a"), folder.File("b"));
  CHECK(TrainTo(LinearModel(), Options(folder.File("b")), 7).global_step == 7);
}

TEST_CASE("a state file that changes while a run is loaded is read once per load") {
  TemporaryFolder folder;
  TrainTo(LinearModel(), Options(folder.path()), 5);
  const std::string path = CheckpointStatePath(folder.path());
  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (!done) {
      std::filesystem::rename(path, path + ".gone");
      std::filesystem::rename(path + ".gone", path);
    }
  });
  for (int i = 0; i < 300; ++i) {
    Log log;
    const std::optional<SavedState> saved = LoadNewest(folder.path(), log);
    CHECK(saved.has_value());
    CHECK(saved->global_step == 5);
    const std::optional<std::string> latest = LatestRegularCheckpoint(folder.path());
    if (latest) CHECK(*latest == folder.File("model.ckpt-5"));
  }
  done = true;
  writer.join();
}

TEST_CASE("the newest keep_checkpoint_max checkpoints are kept, across runs") {
  TemporaryFolder folder;
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_checkpoints_steps = 2;
  options.run_config.keep_checkpoint_max = 3;
  TrainTo(LinearModel(), options, 6);
  CHECK(StepsOnDisk(folder.path()) == Steps{2, 4, 6});
  TrainTo(LinearModel(), options, 8);
  CHECK(StepsOnDisk(folder.path()) == Steps{4, 6, 8});
  CHECK(!FileExists(BundleDataPath(folder.File("model.ckpt-2"), 0, 1)));
  options.run_config.keep_checkpoint_max.reset();
  TrainTo(LinearModel(), options, 16);
  CHECK(StepsOnDisk(folder.path()) == Steps{4, 6, 8, 10, 12, 14, 16});
}

TEST_CASE("keep_checkpoint_every_n_hours keeps a checkpoint that would otherwise be removed") {
  TemporaryFolder folder;
  Home home;
  home.clock.tick = 60;
  EstimatorOptions options = Options(folder.path());
  options.run_config.save_checkpoints_steps = 2;
  options.run_config.keep_checkpoint_max = 1;
  options.run_config.keep_checkpoint_every_n_hours = 1;
  Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 60});
  const Steps steps = StepsOnDisk(folder.path());
  CHECK(steps.size() > 2);   // some were kept
  CHECK(steps.size() < 20);  // not all
  CHECK(steps.back() == 60);
}

TEST_CASE("what a killed process left half-written is removed") {
  TemporaryFolder folder;
  WriteFileAtomically(folder.File("model.ckpt-3.index.tmp.12345"), "half");
  WriteFileAtomically(folder.File("keep.tmp.12345"), "the user's");
  TrainTo(LinearModel(), Options(folder.path()), 1);
  CHECK(!FileExists(folder.File("model.ckpt-3.index.tmp.12345")));
  CHECK(FileExists(folder.File("keep.tmp.12345")));
}

TEST_CASE("data shards that belong to no checkpoint are removed, also without a state file") {
  TemporaryFolder folder;
  WriteFileAtomically(folder.File("model.ckpt-3.data-00000-of-00001"), "its writer was killed");
  TrainTo(LinearModel(), Options(folder.path()), 1);
  CHECK(!FileExists(folder.File("model.ckpt-3.data-00000-of-00001")));
  WriteFileAtomically(folder.File("model.ckpt-1.data-00001-of-00003"), "of a run before");
  TrainTo(LinearModel(), Options(folder.path()), 2);
  CHECK(!FileExists(folder.File("model.ckpt-1.data-00001-of-00003")));
  CHECK(FileExists(folder.File("model.ckpt-1.data-00000-of-00001")));
}

TEST_CASE("another process's run.json stays, and that of a lost process is removed") {
  TemporaryFolder folder;
  MakeDirectories(folder.File(".tpuest"));
  const std::string begun = folder.File(".tpuest/run.json.tmp.");
  constexpr int kNobody = 4194399;  // no process has this number
  for (const int writer : {::getppid(), kNobody, ::getpid()}) {
    WriteFileAtomically(begun + std::to_string(writer), "half");
  }
  TrainTo(LinearModel(), Options(folder.path()), 1);
  CHECK(FileExists(begun + std::to_string(::getppid())));
  CHECK(!FileExists(begun + std::to_string(kNobody)));
  CHECK(!FileExists(begun + std::to_string(::getpid())));
}

TEST_CASE("an error shows both shapes if a checkpoint is of another model") {
  TemporaryFolder folder;
  TrainTo(LinearModel(), Options(folder.path()), 2);
  const std::string before = ReadFile(folder.File("checkpoint"));
  const Error error =
      ErrorOf([&] { TrainTo(LinearModel({.bias_size = 3}), Options(folder.path()), 4); });
  CHECK(error.code() == Code::kCheckpoint);
  REQUIRE(error.faults().size() == 1);  // its slot is not reported separately
  CHECK(error.message() ==
        "model.ckpt-2: \"dense/bias\" is 1 in the checkpoint, 3 in the graph; was the model "
        "changed?");
  CHECK(ReadFile(folder.File("checkpoint")) == before);
}

TEST_CASE("an error names the variables that the checkpoint lacks") {
  TemporaryFolder folder;
  TrainTo(LinearModel({.with_slots = false}), Options(folder.path()), 2);
  const Error error = ErrorOf([&] { TrainTo(LinearModel(), Options(folder.path()), 4); });
  CHECK(error.code() == Code::kCheckpoint);
  CHECK(error.message() ==
        "model.ckpt-2: lacks 2 of the graph's 6 variables: \"dense/kernel/Momentum\", "
        "\"dense/bias/Momentum\"; was the model or its optimizer changed?");
  SUBCASE("values that only the checkpoint has are ignored") {
    CHECK(TrainTo(LinearModel({.with_slots = false}), Options(folder.path()), 3).global_step == 3);
  }
}

TEST_CASE("a warm start takes only trainable variables") {
  TemporaryFolder folder;
  const TrainResult old = TrainTo(LinearModel(), Options(folder.File("old")), 5);
  for (const std::string& from : {folder.File("old"), old.checkpoint}) {
    CAPTURE(from);
    TemporaryFolder fresh;
    Home home;
    EstimatorOptions options = Options(fresh.path());
    options.warm_start_from = from;
    options.run_config.tf_random_seed = 99;
    Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 1});
    const BundleReader start(fresh.File("model.ckpt-0"));
    const BundleReader source(old.checkpoint);
    CHECK(SameBits(start.Read("dense/kernel"), source.Read("dense/kernel")));
    CHECK(SameBits(start.Read("noise"), source.Read("noise")));
    CHECK(*start.Read("global_step").data<int64_t>() == 0);
    CHECK(start.Read("dense/kernel/Momentum").AsDouble(0) == 0);
    CHECK(home.Logged("Warm-starting from: " + old.checkpoint));
    CHECK(home.Logged("Warm-starting variables only in TRAINABLE_VARIABLES."));
    CHECK(home.Logged("Warm-started 3 variables."));
  }
}

TEST_CASE("a warm start is skipped if model_dir has a checkpoint") {
  TemporaryFolder folder;
  TrainTo(LinearModel(), Options(folder.path()), 2);
  Home home;
  EstimatorOptions options = Options(folder.path());
  options.warm_start_from = "/nowhere";
  Estimator(LinearModel(), options, home.get()).Train(RangeInput({}), {.max_steps = 3});
  CHECK(!home.Logged("Warm-start"));
}

TEST_CASE("a warm start reports values that do not fit") {
  TemporaryFolder folder;
  const TrainResult old = TrainTo(LinearModel(), Options(folder.File("old")), 1);
  EstimatorOptions options = Options(folder.File("new"));
  options.warm_start_from = old.checkpoint;
  const Error shape = ErrorOf([&] { TrainTo(LinearModel({.bias_size = 2}), options, 1); });
  CHECK(shape.code() == Code::kCheckpoint);
  CHECK(shape.message() ==
        "Shape of variable dense/bias ((2,)) doesn't match with shape of tensor dense/bias "
        "((1,)) from checkpoint reader.");
  CHECK(shape.faults()[0].key == "warm_start_from");
  options.warm_start_from = folder.File("missing");
  CHECK(ErrorOf([&] { TrainTo(LinearModel(), options, 1); }).code() == Code::kCheckpoint);
  CHECK(!FileExists(folder.File("new/checkpoint")));
}

TEST_CASE("initial values follow from the seed") {
  TemporaryFolder folder;
  const auto noise = [&](const std::string& name, int64_t seed) {
    EstimatorOptions options = Options(folder.File(name));
    options.run_config.tf_random_seed = seed;
    return BundleReader(TrainTo(LinearModel(), options, 1).checkpoint).Read("noise");
  };
  const Tensor first = noise("a", 1);
  CHECK(SameBits(noise("b", 1), first));
  CHECK(!SameBits(noise("c", 2), first));
}

}  // namespace tpuest
