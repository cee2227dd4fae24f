#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// Records its calls; requests a stop after the save of `stop_at`.
class Recorder final : public CheckpointSaverListener {
 public:
  explicit Recorder(const std::string& model_dir, int64_t stop_at = -1)
      : model_dir_(model_dir), stop_at_(stop_at) {}
  void Begin() override { calls.emplace_back("begin"); }
  void BeforeSave(int64_t step) override {
    calls.push_back(fmt::format("before {}{}", step, IsThere(step) ? " again" : ""));
  }
  std::optional<std::string> AfterSave(int64_t step) override {
    CHECK(IsThere(step));
    calls.push_back(fmt::format("after {}", step));
    return step == stop_at_ ? std::optional<std::string>("enough") : std::nullopt;
  }
  void End(int64_t step) override { calls.push_back(fmt::format("end {}", step)); }
  std::vector<std::string> calls;

 private:
  [[nodiscard]] bool IsThere(int64_t step) const {
    return FileExists(JoinPath(model_dir_, fmt::format("model.ckpt-{}.index", step)));
  }
  std::string model_dir_;
  int64_t stop_at_;
};

using Calls = std::vector<std::string>;

EstimatorOptions SavingEvery(const std::string& model_dir, int64_t steps) {
  EstimatorOptions options = Options(model_dir);
  options.run_config.save_checkpoints_steps = steps;
  return options;
}

}  // namespace

TEST_CASE("saving listeners are called around every checkpoint, including the first") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), SavingEvery(folder.path(), 4), home.get());
  Recorder first(folder.path());
  Recorder second(folder.path());
  CHECK(estimator.Train(RangeInput({}), {.max_steps = 6}, {{}, {&first, &second}}).global_step ==
        6);
  CHECK(first.calls == Calls{"begin", "before 0", "after 0", "before 4", "after 4", "before 6",
                             "after 6", "end 6"});
  CHECK(second.calls == first.calls);
  Calls lines;
  for (const std::string& line : home.lines) {
    if (line.find(" checkpoint") != std::string::npos) lines.push_back(line);
  }
  CHECK(Calls(lines.begin(), lines.begin() + 3) ==
        Calls{"Calling checkpoint listeners before saving checkpoint 0...",
              "Saving checkpoints for 0 into " + folder.File("model.ckpt") + ".",
              "Calling checkpoint listeners after saving checkpoint 0..."});
}

TEST_CASE("saving listeners see the checkpoint that a run resumes from") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), SavingEvery(folder.path(), 100), home.get());
  (void)estimator.Train(RangeInput({}), {.max_steps = 2});
  Recorder recorder(folder.path());
  (void)estimator.Train(RangeInput({}), {.max_steps = 4}, {{}, {&recorder}});
  CHECK(recorder.calls ==
        Calls{"begin", "before 2 again", "after 2", "before 4", "after 4", "end 4"});
}

TEST_CASE("a saving listener can end the run, but not where it starts") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), SavingEvery(folder.path(), 2), home.get());
  Recorder at_start(folder.path(), 0);
  Recorder at_four(folder.path(), 4);
  const TrainResult result =
      estimator.Train(RangeInput({}), {.max_steps = 100}, {{}, {&at_start, &at_four}});
  CHECK(result.global_step == 4);
  CHECK(result.stopped_because == "enough");
  CHECK(at_four.calls.back() == "end 4");
  CHECK(home.Logged("A CheckpointSaverListener requested that training be stopped: enough"));
}

TEST_CASE("saving listeners need a run that saves") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.File("run"));
  options.run_config.save_checkpoints_steps.reset();
  options.run_config.save_checkpoints_secs.reset();
  Estimator estimator(LinearModel(), options, home.get());
  Recorder recorder(folder.path());
  const Error error = ErrorOf([&] {
    (void)estimator.Train(RangeInput({}), {.max_steps = 4}, {{}, {&recorder}});
  });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.message() ==
        "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
        "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.");
  CHECK(recorder.calls.empty());
  CHECK(!DirectoryExists(folder.File("run")));
}

}  // namespace tpuest
