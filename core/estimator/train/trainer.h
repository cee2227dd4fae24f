#pragma once
// Estimator::Train: decides where a run starts and ends, and prepares its loop.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/process/files.h"
#include "core/estimator/group/control_messages.h"
#include "core/estimator/model_dir/heartbeat.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/train_step.h"
#include "core/estimator/train/train_session.h"

namespace tpuest {

// Held by the process that trains in a model_dir.
struct RunLock {
  std::unique_ptr<FileLock> file;    // nullptr: a mounted bucket without locks
  std::unique_ptr<Heartbeat> beats;  // for a mounted bucket
};

// Locks the run's model_dir, whose .tpuest must exist. Throws Error kUsage if another process holds
// the lock.
[[nodiscard]] std::unique_ptr<RunLock> LockRun(const EstimatorContext& context);

class Trainer {
 public:
  explicit Trainer(EstimatorContext& context) : context_(context) {}

  // Throws Error kUsage for a length that does not fit, for saving_listeners if nothing is saved,
  // and if another process trains in model_dir; kCheckpoint if the newest checkpoint does not fit
  // the model; and errors of the model_fn, the input and TrainLoop::Run.
  TrainResult Train(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks);
  // In a worker of home.group: runs the steps that the chief requests until the chief ends the run,
  // and calls `other` for a message to evaluate or predict, which carries it out and returns
  // whether it was one. See worker.cpp. Throws errors of the input, and the group's verdict.
  using OtherMessage = std::function<bool(const ControlMessage& message)>;
  TrainResult FollowChief(const InputFn& input_fn, const OtherMessage& other);
  // Returns a variable's value after the last step.
  [[nodiscard]] const Tensor& Variable(const std::string& name) const {
    return variables_.Get(name);
  }
  // Returns the table of these weights; nullptr if it is kept whole.
  [[nodiscard]] std::shared_ptr<RowTable> Table(const std::string& name) const {
    const RowColumn* const rows = variables_.tables().Find(name);
    return rows == nullptr ? nullptr : rows->table;
  }
  // Returns the contents of the run's newest checkpoint right after it was written; they share the
  // variables with the run. `resume.cut` is that of the checkpoint that the run began with.
  [[nodiscard]] SavedState Saved() const;
  // Returns the current variables as if they had been saved under this prefix.
  [[nodiscard]] SavedState InMemory(const std::string& prefix) const;
  // Whether the run resumed from a checkpoint of model_dir.
  [[nodiscard]] bool is_restored() const { return is_restored_; }
  // The global step at which the current or last run is complete; nullopt: at the end of its input.
  [[nodiscard]] const std::optional<int64_t>& goal() const { return goal_; }

 private:
  // Ends a dry run after all checks that precede the first step.
  TrainResult DryRun(const TrainPlan& plan);
  // Leaves the folder as the run that saved the newest checkpoint would have left it.
  TrainResult AlreadyDone(const TrainLength& length, const SavedState& newest, bool has_lock);
  // The state after a rollback.
  struct Rollback {
    std::string prefix;       // the newest checkpoint
    StreamPosition position;  // after the batch that is skipped
    int64_t times = 0;        // number of consecutive rollbacks to this checkpoint
  };
  // Runs to the end, including all rollbacks.
  TrainResult Run(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks,
                  std::optional<SavedState> newest, std::unique_ptr<RunLock> lock);
  // Runs to the end, or until a rollback: `rollback` has its checkpoint and position.
  TrainResult RunOnce(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks,
                      std::optional<SavedState> newest, std::unique_ptr<RunLock>& lock,
                      Rollback& rollback);
  // Opens the training stream.
  [[nodiscard]] std::unique_ptr<BatchStream> OpenInput(const InputFn& input_fn, uint64_t seed);
  // Asks the stream for the rows of this process's replicas only, if all others are not needed.
  void TakeOwnRows(BatchStream& stream, const TrainStep& step) const;
  // In a group, logs how much of the input was read.
  void LogRows(Infeed& infeed) const;
  // Tells the workers of home.group, if there are any, where the run starts.
  void StartWorkers(const BatchStream& stream);
  // In a worker: carries out a message other than start and steps; returns false for these.
  [[nodiscard]] bool Answers(const ControlMessage& message, const OtherMessage& other);
  // In a worker: runs the steps from one start on; returns the message that follows them.
  [[nodiscard]] ControlMessage TrainShare(const InputFn& input_fn, const StartMessage& start,
                                          const OtherMessage& other);
  // Creates and locks model_dir for a run whose folder did not exist.
  [[nodiscard]] std::unique_ptr<RunLock> StartRun(bool restored) const;
  void SettleGoal(const TrainLength& length, TrainPlan& plan);
  // Returns the step for such a stream; keeps the current one if the columns are the same.
  [[nodiscard]] TrainStep& StepFor(const StreamSpec& stream);
  // Makes the store keep tables by rows, if the job says so.
  void KeepRows(const Graph& graph, const TrainPlan& plan);
  // Starts counting the rows of the graph's tables, from the counts in a checkpoint, if the job
  // needs them.
  void CountSeenRows(const Graph& graph, uint64_t seed, const SavedState& from);
  // Starts noting the rows that change, from those that an increment contains.
  void NoteChangedRows(const Graph& graph, const SavedState& from);
  void CheckWatchesRows(std::string_view what, const std::string& key) const;
  // Fills the variables with the values with which the run starts.
  void LoadVariables(const BuiltModel& model, const TrainPlan& plan);
  [[nodiscard]] int64_t GlobalStep();
  // Reads the first batch and compiles the step for it; nullopt if an unfinished run has already
  // read all of its input.
  [[nodiscard]] std::optional<InfeedArgs> InfeedFor(const TrainPlan& plan,
                                                    const TrainLength& length, TrainStep& step,
                                                    BatchStream& stream);

  EstimatorContext& context_;
  VariableStore variables_;
  std::unique_ptr<TrainStep> step_;
  std::optional<int64_t> goal_;
  bool is_restored_ = false;
  StreamPosition starts_at_;  // where the run's input started
  // of the checkpoint that the run resumes from, if it is a preemption checkpoint
  std::optional<CutRun> cut_;
};

}  // namespace tpuest
