#include "core/estimator/follower.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/step/estimator_context.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {
namespace {

// The follower polls at this interval, so it notices a run's end, a signal or a deadline within it.
constexpr double kLookEverySecs = 0.5;

}  // namespace

Follower::Follower(FollowerArgs args) : args_(std::move(args)), states_(args_.tasks.size()) {}

std::string Follower::Run() {
  Begin();
  while (true) {
    const View view = Look();
    for (size_t task = 0; task < states_.size(); ++task) {
      if (IsDue(task, view, args_.clock.Seconds())) Pass(task, view);
    }
    if (std::optional<std::string> why = Ended(view)) return *std::move(why);
    if (args_.stop.requested()) {
      throw Error(static_cast<Code>(UnsavedExitCodeOf(args_.stop)),
                  fmt::format("the evaluator was {} after step {}", ReasonOf(args_.stop), step()),
                  "run it again to continue with the newest checkpoint");
    }
    Sleep();
  }
}

void Follower::Begin() {
  const double now = alive_ = args_.clock.Seconds();
  for (size_t task = 0; task < states_.size(); ++task) {
    const double delay = args_.tasks[task].start_delay_secs;
    states_[task].due = now + delay;
    if (delay > 0) args_.log.Info("Waiting {:f} secs before starting eval.", delay);
  }
}

Follower::View Follower::Look() {
  View view{.trainer = args_.follow.trainer(), .newest = {}};
  const double now = args_.clock.Seconds();
  try {
    view.newest = args_.newest();
  } catch (const Error&) {
    // A trainer that removes old checkpoints may have removed this one.
    if (view.trainer != TrainerState::kTraining) throw;
    view.newest = seen_;
  }
  if (view.newest != seen_ || view.trainer == TrainerState::kTraining) alive_ = now;
  seen_ = view.newest;
  view.is_expired = now - alive_ >= args_.follow.deadline_secs;
  return view;
}

// A task is due when its time has come; the last checkpoint of a run is evaluated without delay.
bool Follower::IsDue(size_t task, const View& view, double now) const {
  const State& state = states_[task];
  if (now >= state.due) return true;
  return !state.is_delayed && view.is_over() && view.newest != state.evaluated;
}

void Follower::Pass(size_t task, const View& view) {
  State& state = states_[task];
  state.is_delayed = false;
  const double begin = args_.clock.Seconds();
  const bool has_evaluated = EvaluateNew(task, view);
  const double throttle = args_.tasks[task].throttle_secs;
  state.due = begin + throttle;
  if (view.is_over() || IsAtEnd()) return;
  const double wait = state.due - args_.clock.Seconds();
  if (wait > 0) {
    args_.log.Info("Waiting {:f} secs before starting next eval run.", wait);
  } else if (throttle == 0 && !has_evaluated) {
    Warn(state.warned_of_load,
         "EvalSpec.throttle_secs is set as 0. This might overload the job before finding (next) "
         "new checkpoint. Please consider to increase it.");
  }
}

bool Follower::EvaluateNew(size_t task, const View& view) {
  State& state = states_[task];
  if (!view.newest) {
    Warn(state.warned,
         "Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.");
    return false;
  }
  if (view.newest == state.evaluated) {
    if (view.is_over()) return false;
    Warn(state.warned,
         "No new checkpoint ready for evaluation. Skip the current evaluation pass as evaluation "
         "results are expected to be same for the same checkpoint.");
    return false;
  }
  if (!view.is_over() && !IsWanted(task, *view.newest)) return false;
  return Evaluate(task, view);
}

bool Follower::Evaluate(size_t task, const View& view) {
  State& state = states_[task];
  const std::string& checkpoint = *view.newest;
  try {
    state.step = args_.evaluate(task, checkpoint);
  } catch (const Error&) {
    if (args_.stop.requested()) throw;
    if (CheckpointExists(checkpoint)) {
      // A trainer that is still running writes this checkpoint again, or a newer one.
      const std::optional<std::string> fault = args_.damage(checkpoint);
      if (!fault || view.is_over()) throw;
      Warn(state.warned_of_damage, *fault + "; waiting for a checkpoint that can be read");
    } else {
      args_.log.Warning("{} was removed during its evaluation; a newer one follows", checkpoint);
    }
    return false;
  }
  state.evaluated = checkpoint;
  state.warned = state.warned_of_damage = -kWarnEverySecs;
  return true;
}

// every_steps selects the checkpoints of a task; the last checkpoint of a training is always
// evaluated.
bool Follower::IsWanted(size_t task, const std::string& checkpoint) const {
  const std::optional<int64_t> every = args_.tasks[task].every_steps;
  const std::optional<int64_t> step = StepOfCheckpoint(checkpoint);
  if (!every || !step) return true;
  if (args_.follow.max_steps && *step >= *args_.follow.max_steps) return true;
  return *step / *every != states_[task].step / *every;
}

void Follower::Warn(double& last, std::string_view message) {
  const double now = args_.clock.Seconds();
  if (now - last < kWarnEverySecs) return;
  last = now;
  args_.log.Warning("{}", message);
}

bool Follower::IsAtEnd() const {
  const std::optional<int64_t> max_steps = args_.follow.max_steps;
  return std::all_of(states_.begin(), states_.end(), [&](const State& state) {
    return state.evaluated && max_steps && state.step >= *max_steps;
  });
}

std::optional<std::string> Follower::Ended(const View& view) const {
  if (IsAtEnd()) {
    args_.log.Info("Exiting evaluation, global_step={} >= train max_steps={}", step(),
                   *args_.follow.max_steps);
    return "max_steps";
  }
  const auto is_open = [&](const State& state) {
    return state.is_delayed || state.evaluated != view.newest;
  };
  if (!view.is_over() || std::any_of(states_.begin(), states_.end(), is_open)) return std::nullopt;
  if (view.trainer == TrainerState::kFailed) ThrowFailed();
  if (!IsOver(view.trainer)) ThrowLost(view);
  std::string why =
      view.trainer == TrainerState::kInterrupted ? "the run was interrupted" : "the run ended";
  args_.log.Info("Exiting evaluation, {} at global_step={}", why, step());
  return why;
}

void Follower::ThrowFailed() const {
  throw Error(Code::kLost,
              fmt::format("{}: the trainer failed after step {}", args_.model_dir, step()),
              fmt::format("{} says why", LogPath(args_.model_dir)));
}

void Follower::ThrowLost(const View& view) const {
  const double silent = args_.clock.Seconds() - alive_;
  const std::string hint =
      "run the training command again, then this one; tpuest.deadlines.evaluator_secs sets how "
      "long to wait";
  const std::string when = fmt::format("{:.0f} seconds ago", silent);
  if (view.trainer == TrainerState::kGone) {
    throw Error(Code::kLost,
                fmt::format("{}: the trainer seems to have died at step {}, {}: no process trains "
                            "here, but the run has not ended",
                            args_.model_dir, step(), when),
                hint);
  }
  if (view.trainer == TrainerState::kPreempted) {
    throw Error(
        Code::kLost,
        fmt::format(
            "{}: the trainer was preempted at step {}, and has not resumed for {:.0f} seconds",
            args_.model_dir, step(), silent),
        hint);
  }
  throw Error(
      Code::kLost,
      fmt::format("{}: no training has started for {:.0f} seconds", args_.model_dir, silent), hint);
}

void Follower::Sleep() const {
  const double now = args_.clock.Seconds();
  double wait = kLookEverySecs;
  for (const State& state : states_) {
    if (state.due > now) wait = std::min(wait, state.due - now);
  }
  args_.follow.sleep(std::max(wait, 1e-3));
}

// The last global step that a task has evaluated.
int64_t Follower::step() const {
  int64_t last = 0;
  for (const State& state : states_) last = std::max(last, state.step);
  return last;
}

}  // namespace tpuest
