#include "core/estimator/follower.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

// Advances only in sleeps and evaluations.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] double WallSeconds() const override { return now; }
  [[nodiscard]] double Seconds() const override { return now; }
  double now = 0;
};

// A follower of a simulated run, with its own clock.
struct Followed {
  std::vector<EvalTask> tasks = {{.label = "eval"}};
  std::optional<int64_t> max_steps;
  double deadline_secs = 600;
  std::map<double, int64_t> saves;  // steps, by the second in which they are saved
  std::map<double, TrainerState> states = {{0, TrainerState::kTraining}};
  std::map<double, StopSignal::Kind> signals;
  std::map<double, bool> damage = {{0, false}};  // whether the saved checkpoint is unreadable
  bool fits = true;                              // the job matches the checkpoint
  double evaluation_secs = 1;

  TemporaryFolder folder;
  ManualClock clock;
  Log log;
  StopSignal stop;
  std::vector<std::string> lines;
  std::vector<std::pair<double, int64_t>> evaluated;  // its start and its step

  std::string Run() {
    log.AddSink([this](LogLevel /*level*/, std::string_view line) { lines.emplace_back(line); });
    return Follower({.tasks = tasks,
                     .follow = {.max_steps = max_steps,
                                .deadline_secs = deadline_secs,
                                .trainer = [this] { return *At(states); },
                                .sleep = [this](double secs) { Sleep(secs); }},
                     .model_dir = "run",
                     .clock = clock,
                     .log = log,
                     .stop = stop,
                     .newest = [this] { return Newest(); },
                     .evaluate =
                         [this](size_t /*task*/, const std::string& checkpoint) {
                           if (*At(damage) || !fits) throw Error(Code::kCheckpoint, "no value");
                           const int64_t step = *StepOfCheckpoint(checkpoint);
                           evaluated.emplace_back(clock.now, step);
                           clock.now += evaluation_secs;
                           return step;
                         },
                     .damage = [this](const std::string& checkpoint) -> std::optional<std::string> {
                       if (!*At(damage)) return std::nullopt;
                       return BaseName(checkpoint) + " is damaged";
                     }})
        .Run();
  }
  [[nodiscard]] int64_t Count(std::string_view part) const {
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

 private:
  template <class T>
  [[nodiscard]] std::optional<T> At(const std::map<double, T>& events) const {
    const auto after = events.upper_bound(clock.now);
    if (after == events.begin()) return std::nullopt;
    return std::prev(after)->second;
  }
  [[nodiscard]] std::optional<std::string> Newest() const {
    const std::optional<int64_t> step = At(saves);
    if (!step) return std::nullopt;
    const std::string prefix = CheckpointAt(folder.path(), *step);
    WriteFileAtomically(BundleIndexPath(prefix), "", /*fsync=*/false);
    return prefix;
  }
  void Sleep(double secs) {
    REQUIRE(secs > 0);
    REQUIRE(clock.now < 1e5);  // it ends
    clock.now += secs;
    if (const auto kind = At(signals)) stop.Request(*kind);
  }
};

Error ErrorOfRun(Followed& run) {
  try {
    (void)run.Run();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {Code::kInternal, ""};
}

using EvaluatedAt = std::vector<std::pair<double, int64_t>>;

}  // namespace

TEST_CASE("the newest checkpoint is evaluated after the delay and each throttle, to max_steps") {
  Followed run;
  run.tasks[0].start_delay_secs = 120;
  run.tasks[0].throttle_secs = 60;
  run.max_steps = 40;
  run.saves = {{50, 10}, {100, 20}, {150, 30}, {200, 40}};
  CHECK(run.Run() == "max_steps");
  CHECK(run.evaluated == EvaluatedAt{{120, 20}, {180, 30}, {240, 40}});
  CHECK(run.clock.now == 241);
  CHECK(run.Count("Waiting 120.000000 secs before starting eval.") == 1);
  CHECK(run.Count("Waiting 59.000000 secs before starting next eval run.") == 2);
  CHECK(run.Count("Exiting evaluation, global_step=40 >= train max_steps=40") == 1);
}

TEST_CASE("a missing checkpoint is reported every ten minutes until it appears") {
  Followed run;
  run.tasks[0].throttle_secs = 100;
  run.max_steps = 10;
  run.saves = {{650, 5}, {1450, 10}};
  (void)run.Run();
  CHECK(run.evaluated == EvaluatedAt{{700, 5}, {1500, 10}});
  CHECK(run.Count("Estimator is not trained yet. Will start an evaluation when a checkpoint is "
                  "ready.") == 2);
  CHECK(run.Count("No new checkpoint ready for evaluation. Skip the current evaluation pass as "
                  "evaluation results are expected to be same for the same checkpoint.") == 2);
}

TEST_CASE("without a throttle it polls twice a second, and warns") {
  Followed run;
  run.max_steps = 10;
  run.saves = {{0.2, 5}, {7.2, 10}};
  (void)run.Run();
  CHECK(run.evaluated == EvaluatedAt{{0.5, 5}, {7.5, 10}});
  CHECK(run.Count("Waiting") == 0);
  CHECK(run.Count("EvalSpec.throttle_secs is set as 0. This might overload the job before finding "
                  "(next) new checkpoint. Please consider to increase it.") == 1);
}

TEST_CASE("it ends with a run that stopped early, and evaluates its last checkpoint at once") {
  Followed run;
  run.tasks[0].throttle_secs = 600;
  run.max_steps = 1000;
  run.saves = {{0, 10}, {200, 20}, {300, 25}};
  run.states[300] = TrainerState::kDone;
  CHECK(run.Run() == "the run ended");
  REQUIRE(run.evaluated.size() == 2);
  CHECK(run.evaluated[1].second == 25);
  CHECK(run.clock.now < 302);
  CHECK(run.Count("Exiting evaluation, the run ended at global_step=25") == 1);
}

TEST_CASE("a run that has already ended is evaluated once") {
  Followed run;
  run.tasks[0].start_delay_secs = 120;
  run.saves = {{0, 10}};
  run.states[0] = TrainerState::kInterrupted;
  CHECK(run.Run() == "the run was interrupted");
  CHECK(run.evaluated == EvaluatedAt{{120, 10}});
}

TEST_CASE("a killed trainer's last checkpoint is evaluated, and the deadline reports the reason") {
  Followed run;
  run.tasks[0].throttle_secs = 3000;
  run.saves = {{0, 10}, {100, 20}};
  run.states[200] = TrainerState::kGone;
  const Error error = ErrorOfRun(run);
  CHECK(error.code() == Code::kLost);
  CHECK(error.message().starts_with("run: the trainer seems to have died at step 20, 60"));
  CHECK(error.faults()[0].hint.find("run the training command again") == 0);
  REQUIRE(run.evaluated.size() == 2);
  CHECK(run.evaluated[1].first == doctest::Approx(800).epsilon(0.001));
}

TEST_CASE("a trainer that returns in time resets the deadline") {
  Followed run;
  run.max_steps = 40;
  run.saves = {{0, 10}, {1200, 40}};
  run.states = {{0, TrainerState::kTraining},
                {100, TrainerState::kGone},
                {600, TrainerState::kTraining},
                {700, TrainerState::kPreempted},
                {1190, TrainerState::kTraining}};
  CHECK(run.Run() == "max_steps");
}

TEST_CASE("errors distinguish a preempted, a failed and a missing trainer") {
  const auto message = [](TrainerState state, bool is_saved) {
    Followed run;
    run.deadline_secs = 5;
    if (is_saved) run.saves[0] = 10;
    run.states[0] = state;
    const Error error = ErrorOfRun(run);
    CHECK(error.code() == Code::kLost);
    return error.message();
  };
  CHECK(message(TrainerState::kPreempted, true)
            .starts_with("run: the trainer was preempted at step 10, and has not resumed for"));
  CHECK(message(TrainerState::kFailed, true) == "run: the trainer failed after step 10");
  CHECK(message(TrainerState::kNone, false).starts_with("run: no training has started for 5"));
}

TEST_CASE("a signal ends the follower's waiting") {
  Followed run;
  run.tasks[0].throttle_secs = 600;
  run.saves = {{0, 10}};
  run.signals[30] = StopSignal::Kind::kPreempted;
  const Error error = ErrorOfRun(run);
  CHECK(static_cast<int>(error.code()) == 143);
  CHECK(error.message() == "the evaluator was preempted after step 10");
  CHECK(run.clock.now < 31);
}

TEST_CASE("every_steps skips checkpoints, but not the last of the training") {
  Followed run;
  run.tasks[0].every_steps = 25;
  run.max_steps = 62;
  run.saves = {{0, 10}, {10, 20}, {20, 30}, {30, 40}, {40, 50}, {50, 60}, {60, 62}};
  (void)run.Run();
  CHECK(run.evaluated == EvaluatedAt{{20, 30}, {40, 50}, {60, 62}});
}

TEST_CASE("each of several EvalSpecs keeps its own time") {
  Followed run;
  run.tasks = {{.label = "a", .throttle_secs = 10}, {.label = "b", .start_delay_secs = 15}};
  run.max_steps = 20;
  run.saves = {{0, 10}, {14, 20}};
  run.evaluation_secs = 0;
  (void)run.Run();
  CHECK(run.evaluated == EvaluatedAt{{0, 10}, {15, 20}, {20, 20}});
}

TEST_CASE("a damaged checkpoint is skipped as long as the run is not over") {
  Followed run;
  run.tasks[0].throttle_secs = 10;
  run.max_steps = 20;
  run.saves = {{0, 10}, {95, 20}};
  run.damage = {{0, false}, {5, true}, {105, false}};
  CHECK(run.Run() == "max_steps");
  CHECK(run.evaluated == EvaluatedAt{{0, 10}, {110, 20}});

  Followed waiting;
  waiting.max_steps = 20;
  waiting.saves = {{0, 10}};
  waiting.damage = {{0, true}, {700, false}};
  waiting.states = {{0, TrainerState::kPreempted}, {740, TrainerState::kDone}};
  waiting.deadline_secs = 750;
  CHECK(waiting.Run() == "the run ended");
  CHECK(waiting.evaluated == EvaluatedAt{{700, 10}});
  CHECK(waiting.Count("model.ckpt-10 is damaged; waiting for a checkpoint that can be read") == 2);
}

TEST_CASE("a last checkpoint that is damaged, or does not fit the job, ends the evaluator") {
  Followed over;
  over.saves = {{0, 10}};
  over.damage = {{0, true}};
  over.states = {{0, TrainerState::kTraining}, {30, TrainerState::kDone}};
  CHECK(ErrorOfRun(over).code() == Code::kCheckpoint);
  CHECK(over.clock.now >= 30);

  Followed other;
  other.saves = {{0, 10}};
  other.fits = false;
  CHECK(ErrorOfRun(other).code() == Code::kCheckpoint);
  CHECK(other.clock.now == 0);
}

}  // namespace tpuest
