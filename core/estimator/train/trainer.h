#pragma once
// Estimator::Train: settles where a run starts and ends, and makes what its loop needs.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/process/files.h"
#include "core/estimator/group/orders.h"
#include "core/estimator/model_dir/heartbeat.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/train_step.h"
#include "core/estimator/train/train_session.h"

namespace tpuest {

// Held by the process that trains in a model_dir.
struct RunLock {
  std::unique_ptr<FileLock> file;    // nullptr: a mounted bucket that has no locks
  std::unique_ptr<Heartbeat> beats;  // of a mounted bucket
};

// The lock of the run's model_dir, whose .tpuest is there. Error kUsage where another process has
// it.
[[nodiscard]] std::unique_ptr<RunLock> LockRun(const EstimatorContext& context);

class Trainer {
 public:
  explicit Trainer(EstimatorContext& context) : context_(context) {}

  // Error kUsage for a length that does not fit, for saving_listeners where nothing is saved and
  // where another process trains in model_dir; kCheckpoint where the newest checkpoint does not fit
  // the model; and what the model_fn, the input and TrainLoop::Run throw.
  TrainResult Train(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks);
  // In a worker of home.group: makes the steps that the chief orders, until that ends the run, and
  // calls `other` for an order to evaluate or predict, which it carries out whole; it returns
  // whether the order was one. See worker.cpp. Throws what the input throws, and the group's
  // verdict.
  using OtherOrder = std::function<bool(const TrainOrder& order)>;
  TrainResult FollowChief(const InputFn& input_fn, const OtherOrder& other);
  // A variable's value after the last step.
  [[nodiscard]] const Tensor& Variable(const std::string& name) const {
    return variables_.Get(name);
  }
  // The table of these weights; nullptr: it is kept whole.
  [[nodiscard]] std::shared_ptr<RowTable> Table(const std::string& name) const {
    const RowColumn* const rows = variables_.tables().Find(name);
    return rows == nullptr ? nullptr : rows->table;
  }
  // The contents of the run's newest checkpoint, right after it was written: they share the
  // variables with the run. `resume.cut` is that of the checkpoint that the run began with.
  [[nodiscard]] SavedState Saved() const;
  // The variables as they are now, as if they had been saved under this prefix.
  [[nodiscard]] SavedState InMemory(const std::string& prefix) const;
  // Whether the run goes on from a checkpoint of model_dir.
  [[nodiscard]] bool is_restored() const { return is_restored_; }
  // The global step at which the run, or the last one, is complete; nullopt: at its input's end.
  [[nodiscard]] const std::optional<int64_t>& goal() const { return goal_; }

 private:
  // Ends a dry run, once all errors that come before the first step would have been thrown.
  TrainResult DryRun(const TrainPlan& plan);
  // Leaves the folder as the run that saved the newest checkpoint would have left it.
  TrainResult AlreadyDone(const TrainLength& length, const SavedState& newest, bool has_lock);
  // Where a run was rolled back to.
  struct Rollback {
    std::string prefix;       // the newest checkpoint
    StreamPosition position;  // behind the batch that is left out
    int64_t times = 0;        // in a row, to this checkpoint
  };
  // Runs to the end, however often it is rolled back.
  TrainResult Run(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks,
                  std::optional<SavedState> newest, std::unique_ptr<RunLock> lock);
  // Runs to the end, or until it is rolled back: `rollback` says from and to where.
  TrainResult RunOnce(const InputFn& input_fn, const TrainLength& length, const TrainHooks& hooks,
                      std::optional<SavedState> newest, std::unique_ptr<RunLock>& lock,
                      Rollback& rollback);
  // The training's stream.
  [[nodiscard]] std::unique_ptr<BatchStream> OpenInput(const InputFn& input_fn, uint64_t seed);
  // Asks the stream for the rows of this process's replicas alone, where the others' are of no use.
  void TakeOwnRows(BatchStream& stream, const TrainStep& step) const;
  // Says how much of the input was read, in a group.
  void LogRows(Infeed& infeed) const;
  // Tells the workers of home.group where the run starts, if there are any.
  void StartWorkers(const BatchStream& stream);
  // In a worker: carries out an order that is no start and no steps; false for others.
  [[nodiscard]] bool Answers(const TrainOrder& order, const OtherOrder& other);
  // A worker's steps from one start on; returns the order that follows them.
  [[nodiscard]] TrainOrder TrainShare(const InputFn& input_fn, const StartOrder& start,
                                      const OtherOrder& other);
  // Makes model_dir and locks it, for a run whose folder was not there before.
  [[nodiscard]] std::unique_ptr<RunLock> StartRun(bool restored) const;
  void SettleGoal(const TrainLength& length, TrainPlan& plan);
  // The step for such a stream: the one that is there if the columns are the same.
  [[nodiscard]] TrainStep& StepFor(const StreamSpec& stream);
  // Fills the variables with the values that the run starts with.
  void KeepRows(const Graph& graph, const TrainPlan& plan);
  // Has the rows of the graph's tables counted, on from what a checkpoint knows of them, where the
  // job has a use for that.
  void CountSeenRows(const Graph& graph, uint64_t seed, const SavedState& from);
  // The same of the rows that change, on from those that an increment has.
  void NoteChangedRows(const Graph& graph, const SavedState& from);
  void CheckWatchesRows(std::string_view what, const std::string& key) const;
  void LoadVariables(const BuiltModel& model, const TrainPlan& plan);
  [[nodiscard]] int64_t GlobalStep();
  // Reads the first batch and compiles the step for it; nullopt where an unfinished run has read
  // all of its input.
  [[nodiscard]] std::optional<InfeedArgs> InfeedFor(const TrainPlan& plan,
                                                    const TrainLength& length, TrainStep& step,
                                                    BatchStream& stream);

  EstimatorContext& context_;
  VariableStore variables_;
  std::unique_ptr<TrainStep> step_;
  std::optional<int64_t> goal_;
  bool is_restored_ = false;
  StreamPosition starts_at_;   // where the run's input was read from
  std::optional<CutRun> cut_;  // of the checkpoint that the run goes on from, if it is an extra
};

}  // namespace tpuest
