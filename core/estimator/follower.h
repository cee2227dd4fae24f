#pragma once
// TensorFlow's evaluator: evaluates the checkpoints that another process writes to model_dir, until
// that run is over.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/stop_signal.h"
#include "core/estimator/train_and_evaluate.h"

namespace tpuest {

// The environment of a Follower; the references outlive it.
struct FollowerArgs {
  const std::vector<EvalTask>& tasks;
  FollowArgs follow;
  std::string model_dir;  // for messages
  const Clock& clock;
  Log& log;
  const StopSignal& stop;
  // Returns the prefix of the newest checkpoint, or nullopt.
  std::function<std::optional<std::string>()> newest;
  // Evaluates the checkpoint with one of the tasks; returns its global step.
  std::function<int64_t(size_t task, const std::string& checkpoint)> evaluate;
  // Returns what is wrong with the checkpoint's files; nullopt if they are intact.
  std::function<std::optional<std::string>(const std::string& checkpoint)> damage;
};

// Looks for checkpoints as TensorFlow's evaluator does, with separate times for each task.
class Follower {
 public:
  explicit Follower(FollowerArgs args);

  // Evaluates until the run is over and returns why it ended: "max_steps", "the run ended", "the
  // run was interrupted". Throws Error kLost if the run failed, or if for deadline_secs no process
  // trains and no checkpoint appears; 143 or kInterrupted when a stop is requested.
  std::string Run();

 private:
  struct State {
    double due = 0;                        // when it next looks for a checkpoint
    bool is_delayed = true;                // true until start_delay_secs have passed
    std::optional<std::string> evaluated;  // prefix of the last checkpoint that it evaluated
    int64_t step = 0;                      // global step of that checkpoint
    double warned = -kWarnEverySecs;       // when it last logged why there is nothing to evaluate
    // when it last warned that throttle_secs: 0 never waits
    double warned_of_load = -kWarnEverySecs;
    // when it last warned that the newest cannot be read
    double warned_of_damage = -kWarnEverySecs;
  };
  // The state of the run at the start of a pass. The trainer is checked first: after a finished
  // run, the newest checkpoint is the last one.
  struct View {
    TrainerState trainer;
    std::optional<std::string> newest;
    bool is_expired = false;
    [[nodiscard]] bool is_over() const { return is_expired || IsOver(trainer); }
  };
  static constexpr double kWarnEverySecs = 600;

  void Begin();
  View Look();
  // Lets a task look for a checkpoint, and sets the time when it looks next.
  void Pass(size_t task, const View& view);
  // EvaluateNew evaluates the newest checkpoint if it is new to the task. Both return whether
  // something was evaluated.
  bool EvaluateNew(size_t task, const View& view);
  bool Evaluate(size_t task, const View& view);
  [[nodiscard]] bool IsDue(size_t task, const View& view, double now) const;
  [[nodiscard]] bool IsWanted(size_t task, const std::string& checkpoint) const;
  void Warn(double& last, std::string_view message);
  // Whether every task has evaluated the last step of the training.
  [[nodiscard]] bool IsAtEnd() const;
  // Returns why following ends here, or nullopt. Throws Error kLost as Run does.
  [[nodiscard]] std::optional<std::string> Ended(const View& view) const;
  [[noreturn]] void ThrowLost(const View& view) const;
  [[noreturn]] void ThrowFailed() const;
  void Sleep() const;
  [[nodiscard]] int64_t step() const;

  FollowerArgs args_;
  std::vector<State> states_;
  std::optional<std::string> seen_;  // the newest checkpoint at the last check
  double alive_ = 0;                 // when a trainer or a new checkpoint was last seen
};

}  // namespace tpuest
