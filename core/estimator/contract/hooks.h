#pragma once
// Hooks look at a run from outside: they are called around every loop of iterations_per_loop steps,
// as tf.estimator's SessionRunHooks are around session.run. The run's own saver, summaries,
// counters and NaN check are hooks too. All calls come from the thread that called Train, Evaluate
// or Predict.

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

// The numbers that one step left, or one batch of an evaluation or a prediction.
struct StepRecord {
  int64_t step = 0;  // global step after the update; outside of training the batch's number, from 1
  float loss = 0;    // mean over replicas, before the update; NaN in a prediction
  std::optional<float> learning_rate;
  double seconds = 0;     // Clock::Seconds when it ended
  double input_wait = 0;  // seconds that its batch was waited for
  // The summaries in the order of SessionInfo::summary_tags. Those of weights alone are NaN but
  // where summaries are written; in an evaluation it is empty but where RequestSummaries was
  // called.
  std::span<const float> summaries;
  std::vector<SummaryValue> distributions;  // empty but where summaries are written
};

// The facts about a run that are settled before its first step.
struct SessionInfo {
  std::string model_dir;
  int64_t global_step = 0;  // restored, or 0
  bool restored = false;    // from a checkpoint of model_dir
  // A stop request had cut a loop there, after which hooks look first.
  bool within_loop = false;
  int64_t batch_size = 0;  // global
  bool has_learning_rate = false;
  std::span<const std::string> summary_tags;
  std::set<std::string> host_call_tags;       // the host_call records these
  std::vector<std::string> predictions = {};  // their names, in a prediction
};

// A loop that is about to run, or ran: tf.estimator.SessionRunContext.
class RunContext {
 public:
  explicit RunContext(int64_t global_step) : global_step_(global_step) {}
  // The global step before the loop.
  [[nodiscard]] int64_t global_step() const { return global_step_; }
  // Steps this loop may take; hooks may lower it.
  [[nodiscard]] int64_t iterations() const { return iterations_; }
  void LimitIterations(int64_t iterations) {
    if (iterations < iterations_) iterations_ = iterations;
  }
  // The saver's hook, if there is one, saves after this loop though it is not due.
  void RequestSave() { wants_save_ = true; }
  [[nodiscard]] bool wants_save() const { return wants_save_; }
  // The first step of the loop leaves its events there.
  void TraceFirstStep(StepTrace* trace) { trace_ = trace; }
  [[nodiscard]] StepTrace* trace() const { return trace_; }
  // In an evaluation: the batch's record has its summaries.
  void RequestSummaries() { wants_summaries_ = true; }
  [[nodiscard]] bool wants_summaries() const { return wants_summaries_; }
  void set_iterations(int64_t iterations) { iterations_ = iterations; }
  // Makes this loop the last one. The first reason stands ("max_steps", "early_stopping").
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

// A step that was not applied, since not all of its numbers are finite.
struct DivergedStep {
  float loss = 0;
  std::string variable;  // the first one that the update would have made not finite; "": the loss
  std::string records;   // "a.csv: records 4 to 7", or empty
};

// The steps of the loop that has ended.
struct RunValues {
  int64_t global_step = 0;            // after the loop
  std::span<const StepRecord> steps;  // of this loop, oldest first; empty if input ended
  // The step after these, which is not in `steps`.
  std::optional<DivergedStep> diverged;
  // A stop request ended the loop before its last step: a run that was not asked to stop would have
  // gone on without a look of the hooks.
  bool is_cut = false;
};

// The surroundings of a hook, from Begin to End.
struct HookHome {
  Log& log;
  const Clock& clock;
  const StopSignal& stop;
  const std::string& model_dir;
  HookGraph& graph;
  // Only a training run has these.
  EventWriter* events = nullptr;  // the events in model_dir
  Saver* saver = nullptr;
  ResumePoint* resume = nullptr;  // the run's position, which a checkpoint is saved with
  size_t looks = 0;               // of resume->looks, those that hooks have taken for their own
  size_t conditions = 0;          // likewise, of those that keep resume->conditions
  std::optional<StepRecord> last_step;  // the last one that was made, without its summaries
  // Of an evaluation, at its end.
  const std::map<std::string, Tensor>* metrics = nullptr;
  // In an evaluation: the events of its folder, which is made if need be.
  std::function<EventWriter&()> open_events = {};
  // In a prediction, while AfterRun is called: those of the batch, [examples, ...] each.
  const std::map<std::string, Tensor>* predictions = nullptr;
  bool loops_end_at_periods = false;  // iterations_per_loop: auto

  [[nodiscard]] bool trains() const { return resume != nullptr; }
};

// tf.estimator.SessionRunHook. An Error that a call throws ends the run.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;
  // Is called before the first step and may add nodes to home.graph. `home` outlives the hook's
  // use.
  virtual void Begin(HookHome& /*home*/) {}
  // Is called when the variables have their first values, before the first loop.
  virtual void AfterCreateSession(const SessionInfo& /*session*/) {}
  // Is called before each loop: LimitIterations, TraceFirstStep and RequestStop are for here.
  virtual void BeforeRun(RunContext& /*context*/) {}
  // Is called after each loop, when its steps are made: RequestStop makes it the last one.
  virtual void AfterRun(RunContext& /*context*/, const RunValues& /*values*/) {}
  // Is called after the last loop; not if the run ends by an error.
  virtual void End(int64_t /*global_step*/) {}
  // The steps from one look of the hook at the run to the next; 0: it needs none. With
  // iterations_per_loop: auto loops end there.
  [[nodiscard]] virtual int64_t Period() const { return 0; }
  // The first step after this one at whose end the hook has to look at the run: the next one, if it
  // has no period. With use_tpu: false, where TensorFlow's hooks look after each step, loops end
  // there.
  [[nodiscard]] virtual int64_t NextLook(int64_t global_step) const {
    return Period() > 0 ? (global_step / Period() + 1) * Period() : global_step + 1;
  }
  // Whether it is called before the run's saver, so that a checkpoint has what it keeps of the
  // loop's steps.
  [[nodiscard]] virtual bool IsBeforeSaver() const { return false; }

 protected:
  static constexpr int64_t kNeverLooks = std::numeric_limits<int64_t>::max();
};

// tf.estimator.CheckpointSaverListener: looks at every checkpoint that the saver's hook writes, in
// TensorFlow's order; also at the one that a run goes on from, which is not written again.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  virtual void Begin() {}
  virtual void BeforeSave(int64_t /*global_step*/) {}
  // Is called when the checkpoint is on disk. A reason ends the run after this loop, unless the run
  // starts or ends here anyway.
  virtual std::optional<std::string> AfterSave(int64_t /*global_step*/) { return std::nullopt; }
  // Is called after the last checkpoint; not if the run ends by an error.
  virtual void End(int64_t /*global_step*/) {}
  // The step at which it means to evaluate next, for a status line.
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

// The contents of a status line. Reports come often, from the thread that trains.
struct ProgressReport {
  std::string_view activity;  // "train", "eval", "predict"
  int64_t step = 0;           // global step; batches in eval and predict
  std::optional<int64_t> goal;
  std::optional<float> loss;
  double examples_per_sec = 0;
  double input_wait = 0;                   // share of time, 0..1
  std::optional<int64_t> next_evaluation;  // step at which the run stops to evaluate
  std::optional<int64_t> last_checkpoint;  // its step
};
// The status line's side of the reports.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  virtual void Report(const ProgressReport& report) = 0;
};

}  // namespace tpuest
