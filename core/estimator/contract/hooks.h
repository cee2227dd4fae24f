#pragma once
// Hooks observe a run: they are called around every loop of iterations_per_loop steps, as
// tf.estimator's SessionRunHooks are around session.run. The run's own saver, summaries, counters
// and NaN check are hooks as well. All calls come from the thread that called Train, Evaluate or
// Predict.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/contract/stop_signal.h"
#include "core/io/events/event.h"
#include "core/tensor/tensor.h"

namespace tpuest {

class EventWriter;
class HookGraph;
class Saver;
class StepTrace;
struct ResumePoint;

// The results of one step, or of one batch of an evaluation or a prediction.
struct StepRecord {
  int64_t step = 0;  // global step after the update; outside training the batch's number, from 1
  float loss = 0;    // mean over replicas, before the update; NaN in a prediction
  std::optional<float> learning_rate;
  double seconds = 0;     // Clock::Seconds at its end
  double input_wait = 0;  // seconds spent waiting for its batch
  // The summaries in the order of SessionInfo::summary_tags. Summaries of weights only are NaN
  // except when summaries are written. In an evaluation it is empty unless RequestSummaries was
  // called.
  std::span<const float> summaries;
  std::vector<SummaryValue> distributions;  // empty except when summaries are written
};

// The facts about a run that are known before its first step.
struct SessionInfo {
  std::string model_dir;
  int64_t global_step = 0;  // restored, or 0
  bool restored = false;    // from a checkpoint of model_dir
  // True if a stop request interrupted a loop at this step; hooks are then polled first after its
  // rest.
  bool within_loop = false;
  int64_t batch_size = 0;  // of the global batch
  bool has_learning_rate = false;
  std::span<const std::string> summary_tags;
  std::set<std::string> host_call_tags;       // tags that the host_call records
  std::vector<std::string> predictions = {};  // in a prediction: names of the predictions
};

// A loop that is about to run, or has run: tf.estimator.SessionRunContext.
class RunContext {
 public:
  explicit RunContext(int64_t global_step) : global_step_(global_step) {}
  // The global step before the loop.
  [[nodiscard]] int64_t global_step() const { return global_step_; }
  // The number of steps in this loop; hooks may lower it.
  [[nodiscard]] int64_t iterations() const { return iterations_; }
  void LimitIterations(int64_t iterations) {
    if (iterations < iterations_) iterations_ = iterations;
  }
  // Makes the saver's hook, if there is one, save after this loop although no save is due.
  void RequestSave() { wants_save_ = true; }
  [[nodiscard]] bool wants_save() const { return wants_save_; }
  // Makes the first step of the loop record its events in `trace`.
  void TraceFirstStep(StepTrace* trace) { trace_ = trace; }
  [[nodiscard]] StepTrace* trace() const { return trace_; }
  // In an evaluation: adds summaries to the batch's record.
  void RequestSummaries() { wants_summaries_ = true; }
  [[nodiscard]] bool wants_summaries() const { return wants_summaries_; }
  void set_iterations(int64_t iterations) { iterations_ = iterations; }
  // Makes this loop the last one. The first reason is kept ("max_steps", "early_stopping").
  void RequestStop(std::string reason) {
    if (!stop_reason_) stop_reason_ = std::move(reason);
  }
  [[nodiscard]] const std::optional<std::string>& stop_reason() const { return stop_reason_; }

 private:
  int64_t global_step_;
  int64_t iterations_ = 0;
  std::optional<std::string> stop_reason_;
  bool wants_save_ = false;
  bool wants_summaries_ = false;
  StepTrace* trace_ = nullptr;
};

// A step that was not applied because some of its numbers are not finite.
struct DivergedStep {
  float loss = 0;
  // the first variable that would not be finite after the update; "": the loss is not
  std::string variable;
  std::string records;  // "a.csv: records 4 to 7", or empty
};

// The steps of the loop that has ended.
struct RunValues {
  int64_t global_step = 0;            // after the loop
  std::span<const StepRecord> steps;  // of this loop, oldest first; empty if the input ended
  // The step after these, which was not applied and is not in `steps`.
  std::optional<DivergedStep> diverged;
  // True if a stop request ended the loop before its last step: without the request the run would
  // have continued without polling the hooks.
  bool is_cut = false;
};

// The environment of a hook, from Begin to End.
struct HookHome {
  Log& log;
  const Clock& clock;
  const StopSignal& stop;
  const std::string& model_dir;
  HookGraph& graph;
  // Only set in a training run.
  EventWriter* events = nullptr;  // the events in model_dir
  Saver* saver = nullptr;
  ResumePoint* resume = nullptr;  // the run's position, which checkpoints contain
  size_t looks = 0;               // number of entries of resume->looks that hooks have claimed
  size_t conditions = 0;          // likewise, of resume->conditions
  std::optional<StepRecord> last_step;  // the last step so far, without its summaries
  // Set at the end of an evaluation.
  const std::map<std::string, Tensor>* metrics = nullptr;
  // In an evaluation: opens the events of its folder, which is created if necessary.
  std::function<EventWriter&()> open_events = {};
  // In a prediction, during AfterRun: those of the batch, [examples, ...] each.
  const std::map<std::string, Tensor>* predictions = nullptr;
  bool loops_end_at_periods = false;  // iterations_per_loop: auto

  [[nodiscard]] bool trains() const { return resume != nullptr; }
};

// tf.estimator.SessionRunHook. An Error thrown by a call ends the run.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;
  // Called before the first step; may add nodes to home.graph. `home` outlives the hook's use.
  virtual void Begin(HookHome& /*home*/) {}
  // Called when the variables have their first values, before the first loop.
  virtual void AfterCreateSession(const SessionInfo& /*session*/) {}
  // Called before each loop; may call LimitIterations, TraceFirstStep and RequestStop.
  virtual void BeforeRun(RunContext& /*context*/) {}
  // Called after each loop; RequestStop makes it the last one.
  virtual void AfterRun(RunContext& /*context*/, const RunValues& /*values*/) {}
  // Called after the last loop, unless the run ends by an error.
  virtual void End(int64_t /*global_step*/) {}
  // Returns the number of steps between two polls of the hook; 0 if it needs none. With
  // iterations_per_loop: auto, loops end at polls.
  [[nodiscard]] virtual int64_t Period() const { return 0; }
  // Returns the next poll step: the first step after `global_step` at whose end the hook must be
  // called; the next step if it has no period. With use_tpu: false, where TensorFlow calls hooks
  // after each step, loops end there.
  [[nodiscard]] virtual int64_t NextLook(int64_t global_step) const {
    return Period() > 0 ? (global_step / Period() + 1) * Period() : global_step + 1;
  }
  // Whether it is called before the run's saver, so that a checkpoint contains its state after the
  // loop's steps.
  [[nodiscard]] virtual bool IsBeforeSaver() const { return false; }

 protected:
  static constexpr int64_t kNeverLooks = std::numeric_limits<int64_t>::max();
};

// tf.estimator.CheckpointSaverListener: called for every checkpoint that the saver's hook writes,
// in TensorFlow's order; also for the checkpoint that a run resumes from, which is not written
// again.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  virtual void Begin() {}
  virtual void BeforeSave(int64_t /*global_step*/) {}
  // Called when the checkpoint is on disk. A returned reason ends the run after this loop, unless
  // the run starts or ends here anyway.
  virtual std::optional<std::string> AfterSave(int64_t /*global_step*/) { return std::nullopt; }
  // Called after the last checkpoint, unless the run ends by an error.
  virtual void End(int64_t /*global_step*/) {}
  // Returns the step of its next planned evaluation, for a status line.
  [[nodiscard]] virtual std::optional<int64_t> NextEvaluation() const { return std::nullopt; }
};

// The hooks and listeners of a call of Train; the caller owns them.
struct TrainHooks {
  TrainHooks() = default;
  TrainHooks(std::initializer_list<SessionRunHook*> of) : hooks(of) {}
  TrainHooks(std::vector<SessionRunHook*> of, std::vector<CheckpointSaverListener*> listeners)
      : hooks(std::move(of)), saving_listeners(std::move(listeners)) {}

  std::vector<SessionRunHook*> hooks;
  std::vector<CheckpointSaverListener*> saving_listeners;
};

// The contents of a status line. Reports come often, from the training thread.
struct ProgressReport {
  std::string_view activity;  // "train", "eval", "predict"
  int64_t step = 0;           // global step; batches in eval and predict
  std::optional<int64_t> goal;
  std::optional<float> loss;
  double examples_per_sec = 0;
  double input_wait = 0;                   // share of time spent waiting for input, 0..1
  std::optional<int64_t> next_evaluation;  // step at which the run pauses to evaluate
  std::optional<int64_t> last_checkpoint;  // step of the last checkpoint
};
// Receives the reports for a status line.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  virtual void Report(const ProgressReport& report) = 0;
};

}  // namespace tpuest
