#pragma once
// The hooks that every training run has: TensorFlow's CheckpointSaverHook, ExamplesPerSecondHook,
// SummarySaverHook, NanTensorHook and StopAtStepHook.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/contract/hooks.h"
#include "core/estimator/hooks/step_timer.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/estimator/options/options.h"
#include "core/io/events/event_writer.h"

namespace tpuest {

// Saves at the start of a run that was not restored, at the first end of a loop that is save_steps
// or save_secs after the last checkpoint, and at the end. If loops end at multiples of save_steps
// by themselves (iterations_per_loop: auto), it saves at these. A resumed run saves at the same
// steps as a run that was never stopped: preemption checkpoints do not count.
class CheckpointSaverHook final : public SessionRunHook {
 public:
  // At most one of the two may be given; without both it saves only at the start and at the end.
  CheckpointSaverHook(std::optional<int64_t> save_secs, std::optional<int64_t> save_steps)
      : save_secs_(save_secs), save_steps_(save_steps) {}
  // Sets the listeners; call it before Begin.
  void SetListeners(std::vector<CheckpointSaverListener*> listeners) {
    listeners_ = std::move(listeners);
  }
  void Begin(HookHome& home) override;
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  void End(int64_t global_step) override;
  [[nodiscard]] int64_t Period() const override { return save_steps_.value_or(0); }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override;

 private:
  // Saves and calls the listeners before and after. Returns a listener's reason to end the run.
  std::optional<std::string> Save(int64_t step);
  void Write(int64_t step);
  [[nodiscard]] bool IsDue(int64_t step) const;

  std::optional<int64_t> save_secs_;
  std::optional<int64_t> save_steps_;
  std::vector<CheckpointSaverListener*> listeners_;
  HookHome* home_ = nullptr;
  int64_t last_step_ = 0;
  double last_seconds_ = 0;
};

// Writes a line of metrics.jsonl every log_step_count_steps global steps, regardless of loops. It
// runs before the saver's hook, so that metrics.jsonl never lacks a step that a checkpoint
// contains.
class MetricsLogHook final : public SessionRunHook {
 public:
  MetricsLogHook(int64_t every, MetricsLog& metrics, const Clock& clock)
      : every_(every), metrics_(metrics), clock_(clock) {}
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return every_; }

 private:
  void Report(const StepRecord& record);

  const int64_t every_;
  MetricsLog& metrics_;
  const Clock& clock_;
  int64_t batch_size_ = 0;
  int64_t last_step_ = 0;
  double last_seconds_ = 0;
  double waited_ = 0;  // seconds spent waiting for input since then
};

// Logs the loss at multiples of log_step_count_steps or, if `names_begins`, as TensorFlow's
// LoggingTensorHook does: every log_step_count_steps steps from the first one on, with the step
// that began with that loss. Writes the events global_step/sec and examples/sec at the first end of
// a loop that is at least as many steps after the last one; the end of the first loop counts as the
// first one. With 5 and use_tpu: false these are steps 6, 11, 16.
class ExamplesPerSecondHook final : public SessionRunHook {
 public:
  ExamplesPerSecondHook(int64_t every, bool names_begins, Log& log, const Clock& clock,
                        EventWriter& events)
      : every_(every),
        names_begins_(names_begins),
        log_(log),
        clock_(clock),
        events_(events),
        timer_(every, std::nullopt) {}
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return every_; }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override {
    return timer_.NextDue(global_step);
  }

 private:
  void ReportLoss(const StepRecord& record, int64_t step);
  void ReportRates(const StepRecord& last);

  const int64_t every_;
  const bool names_begins_;
  Log& log_;
  const Clock& clock_;
  EventWriter& events_;
  SecondOrStepTimer timer_;  // for the rates
  int64_t first_step_ = 0;   // the step at which the run began
  int64_t batch_size_ = 0;
  double last_seconds_ = 0;  // for the losses
  bool is_first_ = true;
};

// The events of a hook: in its own folder, or among the run's.
class HookEvents {
 public:
  explicit HookEvents(std::optional<std::string> output_dir) : output_dir_(std::move(output_dir)) {}
  // Outside training, opens them on first use.
  void Open(const HookHome& home);
  [[nodiscard]] EventWriter& events();
  void Flush() {
    if (events_ != nullptr) events_->Flush();
  }

 private:
  std::optional<std::string> output_dir_;
  const HookHome* home_ = nullptr;
  std::unique_ptr<EventWriter> own_;
  EventWriter* events_ = nullptr;
};

// Writes events of the loss, the learning rate and the model's summaries: for the first step, and
// for each step that is far enough from the last one. Steps count from 1: save_steps: 100 gives 1,
// 101, ... In an evaluation, writes the model's summaries of batches 1, 101, ..., at the
// checkpoint's step.
class SummarySaverHook final : public SessionRunHook {
 public:
  // Exactly one of save_steps and save_secs must be given. `output_dir`: folder of the events;
  // nullopt: the run's.
  SummarySaverHook(std::optional<int64_t> save_steps, std::optional<double> save_secs,
                   std::optional<std::string> output_dir = std::nullopt)
      : timer_(save_steps, save_secs), output_(std::move(output_dir)) {}
  void Begin(HookHome& home) override;
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  void End(int64_t /*global_step*/) override { output_.Flush(); }
  [[nodiscard]] int64_t Period() const override { return timer_.period(); }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override {
    return timer_.period() > 0 ? SessionRunHook::NextLook(global_step) : kNeverLooks;
  }

 private:
  [[nodiscard]] bool IsDue(int64_t step, double seconds) const;
  void Write(const StepRecord& record, int64_t global_step);

  SecondOrStepTimer timer_;
  HookEvents output_;
  HookHome* home_ = nullptr;
  int64_t batches_ = 0;    // in an evaluation, the number of completed batches
  bool is_asked_ = false;  // whether the summaries of the current batch are requested
  std::vector<std::string> tags_;
  std::set<std::string> elsewhere_;
};

// tf.train.StepCounterHook: logs global_step/sec and writes it as an event at the first end of a
// loop that is far enough from the last one.
class StepCounterHook final : public SessionRunHook {
 public:
  // Exactly one of every_n_steps and every_n_secs must be given. `output_dir`: folder of the
  // events; nullopt: the run's.
  StepCounterHook(std::optional<int64_t> every_n_steps, std::optional<double> every_n_secs,
                  std::optional<std::string> output_dir = std::nullopt)
      : timer_(every_n_steps, every_n_secs), output_(std::move(output_dir)) {}
  void Begin(HookHome& home) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return timer_.period(); }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override {
    return timer_.NextDue(global_step);
  }

 private:
  SecondOrStepTimer timer_;
  HookEvents output_;
  HookHome* home_ = nullptr;
};

// "Model diverged with loss = NaN.", or the variable that the step would have made not finite.
[[nodiscard]] std::string DivergedMessage(const DivergedStep& step);

// Ends the run at a step that was not applied because its loss or a value that it writes is NaN or
// infinite: throws Error kDiverged or, without fail_on_nan_loss, stops with the reason "diverged".
// In an evaluation it checks the loss of each batch, in a prediction each of its predictions for
// NaN.
class NanTensorHook final : public SessionRunHook {
 public:
  explicit NanTensorHook(bool fail_on_nan_loss = true) : fail_on_nan_loss_(fail_on_nan_loss) {}
  void Begin(HookHome& home) override { home_ = &home; }
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }

 private:
  const bool fail_on_nan_loss_;
  // In a prediction: checks the predictions for NaN.
  void LookAt(RunContext& context, const std::map<std::string, Tensor>& predictions);

  HookHome* home_ = nullptr;
};

// Ends the run at a global step, or a number of steps after its start.
class StopAtStepHook final : public SessionRunHook {
 public:
  // Exactly one of num_steps and last_step must be given; otherwise throws Error kUsage in
  // TensorFlow's words. `reason` becomes the run's TrainResult::stopped_because.
  StopAtStepHook(std::optional<int64_t> num_steps, std::optional<int64_t> last_step,
                 std::string reason = "StopAtStepHook");
  void AfterCreateSession(const SessionInfo& session) override {
    if (num_steps_) last_step_ = session.global_step + *num_steps_;
  }
  void BeforeRun(RunContext& context) override {
    context.LimitIterations(last_step_ - context.global_step());
  }
  void AfterRun(RunContext& context, const RunValues& values) override {
    if (values.global_step >= last_step_) context.RequestStop(reason_);
  }
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }

 private:
  const std::optional<int64_t> num_steps_;
  int64_t last_step_ = 0;
  const std::string reason_;
};

// A float as Python prints it: "2.0", "0.6931472", "1e-07".
[[nodiscard]] std::string PythonFloat(float value);

}  // namespace tpuest
