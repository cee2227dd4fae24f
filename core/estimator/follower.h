#pragma once
// TensorFlow's evaluator: evaluates the checkpoints that another process leaves in model_dir, until
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

// The surroundings of a Follower; the references outlive it.
struct FollowerArgs {
  const std::vector<EvalTask>& tasks;
  FollowArgs follow;
  std::string model_dir;  // for messages
  const Clock& clock;
  Log& log;
  const StopSignal& stop;
  // Prefix of the newest checkpoint, or nullopt.
  std::function<std::optional<std::string>()> newest;
  // Evaluates the checkpoint by one of the tasks; returns its global step.
  std::function<int64_t(size_t task, const std::string& checkpoint)> evaluate;
  // What is wrong with the checkpoint's files; nullopt: they hold.
  std::function<std::optional<std::string>(const std::string& checkpoint)> damage;
};

// Looks for checkpoints as TensorFlow's evaluator does, each task by its own times.
class Follower {
 public:
  explicit Follower(FollowerArgs args);

  // Evaluates until the run is over and returns why it ended: "max_steps", "the run ended", "the
  // run was interrupted". Error kLost where the run failed, or where for deadline_secs no process
  // trains and nothing new was saved; 143 or kInterrupted where it is asked to leave.
  std::string Run();

 private:
  struct State {
    double due = 0;                             // when it looks for a checkpoint next
    bool is_delayed = true;                     // it waits for start_delay_secs
    std::optional<std::string> evaluated;       // the last checkpoint that it evaluated
    int64_t step = 0;                           // the global step of that one
    double warned = -kWarnEverySecs;            // when it told why there is nothing to evaluate
    double warned_of_load = -kWarnEverySecs;    // when it told that throttle_secs: 0 never waits
    double warned_of_damage = -kWarnEverySecs;  // when it told that the newest cannot be read
  };
  // The state of the run when a pass begins. The trainer is looked at first: the newest checkpoint
  // of a run that is over is its last.
  struct View {
    TrainerState trainer;
    std::optional<std::string> newest;
    bool is_expired = false;
    [[nodiscard]] bool is_over() const { return is_expired || IsOver(trainer); }
  };
  static constexpr double kWarnEverySecs = 600;

  void Begin();
  View Look();
  // Lets a task look for a checkpoint, and sets when it looks next.
  void Pass(size_t task, const View& view);
  // Evaluates the newest checkpoint if it is new to the task. Both return whether something was
  // evaluated.
  bool EvaluateNew(size_t task, const View& view);
  bool Evaluate(size_t task, const View& view);
  [[nodiscard]] bool IsDue(size_t task, const View& view, double now) const;
  [[nodiscard]] bool IsWanted(size_t task, const std::string& checkpoint) const;
  void Warn(double& last, std::string_view message);
  // Whether each task has evaluated the last step of the training.
  [[nodiscard]] bool IsAtEnd() const;
  // The reason why following ends here, or nullopt. Error kLost as Run's.
  [[nodiscard]] std::optional<std::string> Ended(const View& view) const;
  [[noreturn]] void ThrowLost(const View& view) const;
  [[noreturn]] void ThrowFailed() const;
  void Sleep() const;
  [[nodiscard]] int64_t step() const;

  FollowerArgs args_;
  std::vector<State> states_;
  std::optional<std::string> seen_;  // the newest checkpoint of the last look
  double alive_ = 0;                 // when a trainer or something new was last seen
};

}  // namespace tpuest
