#pragma once
// Runs the steps of a training run in loops of iterations_per_loop, and calls its hooks around
// them.

#include <optional>
#include <string>
#include <vector>

#include "core/base/step_trace.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/infeed.h"
#include "core/estimator/step/programs/host_call_runner.h"
#include "core/estimator/step/train_step.h"
#include "core/hosts/group.h"
#include "core/io/events/event_writer.h"

namespace tpuest {

struct TrainLoopArgs {
  EstimatorContext& context;
  VariableStore& variables;
  TrainStep& step;
  Infeed& infeed;
  Saver& saver;
  ResumePoint& resume;  // advanced by every step
  bool saves = true;    // whether checkpoints are written
  bool may_roll_back = false;
  std::vector<SessionRunHook*> hooks;
  HostCallRunner& host_call;
  EventWriter& events;  // of model_dir
  std::span<CheckpointSaverListener* const> listeners;
  int64_t batch_size = 1;
  std::optional<int64_t> goal;  // global step
  int64_t period = 0;           // see LoopLength
  std::optional<CutRun> cut;    // the first loop is the rest of the loop that was interrupted there
};

class TrainLoop {
 public:
  explicit TrainLoop(TrainLoopArgs args);

  // Runs to the end and returns why it ended, as TrainResult::stopped_because; kRolledBack if the
  // caller is to return to the newest checkpoint and continue at resume.position. Throws Error
  // kDiverged for a step that is not finite, kData on TPU if the input ends before the goal, kUsage
  // if global_step did not increase, and errors of hooks, data and saving.
  static constexpr std::string_view kRolledBack = "rolled back";
  std::string Run();
  [[nodiscard]] int64_t global_step() const { return step_; }
  [[nodiscard]] std::optional<float> loss() const { return loss_; }
  [[nodiscard]] bool input_ended() const { return input_ended_; }
  [[nodiscard]] int64_t steps_made() const { return steps_made_; }
  // The step at which the next loop begins: the begin of the last one, if it was interrupted.
  [[nodiscard]] int64_t next_loop_begin() const { return next_loop_begin_; }

 private:
  // Returns the number of steps of the next loop, if no hook limits it.
  [[nodiscard]] int64_t NextIterations();
  // `trace` (may be nullptr) receives the events of the first step.
  RunValues RunSteps(int64_t iterations, StepTrace* trace);
  void RunChunk(std::vector<InfeedItem>& items, StepTrace* trace);
  // Tells the workers of home.group, if there are any, to run the steps of these items as well.
  void OrderSteps(std::span<const InfeedItem> items);
  void Note(hosts::Activity activity) const;
  // Records the steps that ran on these items. Each waited `waited` seconds for its batch.
  void Record(const StepsMade& made, std::span<const InfeedItem> items, double waited);
  void RecordStep(const StepValues& values);
  // Decides, by on_nan, what happens after a step that was not applied.
  void Diverge(const StepValues& values, const Batch& batch);
  [[nodiscard]] std::string RecordsOf(const Batch& batch) const;
  // Sets the size of the next chunk from the seconds that a step took in this one.
  void SizeChunk(const std::optional<int64_t>& steps_per_call, double step_seconds);
  // Returns the number of steps of the next call, at most `most`: the next step that computes rare
  // summaries begins its own call.
  [[nodiscard]] size_t StepsOfCall(size_t most) const;
  // Whether the next step computes rare summaries.
  [[nodiscard]] bool RareSummariesAreDue() const;
  // Calls the host_call for the last recorded step, if it is due.
  void CallHost(const StepsMade& made, size_t step);
  void SettleEnd(RunContext& context, const RunValues& values);
  void FailAtEndOfInput();
  void CheckGlobalStep() const;
  void ReportProgress();
  void OpenWindow(double seconds);
  [[nodiscard]] bool AtGoal() const { return args_.goal && step_ >= *args_.goal; }

  TrainLoopArgs args_;
  LoopLength length_;
  int64_t step_ = 0;
  int64_t steps_made_ = 0;
  std::optional<float> loss_;
  int64_t loop_begin_ = 0;  // global step before the current loop
  int64_t next_loop_begin_ = 0;
  size_t chunk_ = 1;                 // steps that are taken from the infeed at once
  double step_seconds_ = 0;          // seconds per step in the last chunk
  bool whole_chunks_ = false;        // the device takes whole chunks only
  std::vector<StepRecord> records_;  // of the current loop
  std::vector<float> summaries_;     // of all records
  std::optional<DivergedStep> diverged_;
  bool rolls_back_ = false;
  int64_t skipped_in_a_row_ = 0;
  bool input_ended_ = false;
  double waited_ = 0;  // seconds spent waiting for batches, as far as records tell
  // The status line shows the rates of this window, which is renewed once it is kRateSeconds long.
  double window_begin_ = 0;
  int64_t window_step_ = 0;
  double window_waited_ = 0;
  double examples_per_sec_ = 0;
  double input_wait_ = 0;
};

}  // namespace tpuest
