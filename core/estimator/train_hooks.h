#pragma once
// The hooks that every training run has: TensorFlow's CheckpointSaverHook, StepCounterHook,
// LoggingTensorHook, SummarySaverHook, NanTensorHook and StopAtStepHook.

#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/estimator/hooks.h"
#include "core/estimator/metrics_log.h"
#include "core/estimator/options.h"
#include "core/estimator/saver.h"
#include "core/io/event_writer.h"

namespace tpuest {

struct CheckpointSaverHookArgs {
  Saver& saver;
  const RunConfig& config;
  Log& log;
  const Clock& clock;
  EventWriter& events;
  std::vector<CheckpointSaverListener*> listeners;
};

// Saves at the start of a run that was not restored, at the first end of a loop that is
// save_checkpoints_steps or _secs after the last one, and at the end. Where loops end by themselves
// at multiples of save_checkpoints_steps (iterations_per_loop: auto) it saves at these, so that a
// run that was cut has the checkpoints of one that was not.
class CheckpointSaverHook final : public SessionRunHook {
 public:
  explicit CheckpointSaverHook(CheckpointSaverHookArgs args) : args_(std::move(args)) {}
  void Begin() override;
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  void End(int64_t global_step) override;
  [[nodiscard]] int64_t Period() const override {
    return args_.config.save_checkpoints_steps.value_or(0);
  }

 private:
  // What a listener gave as reason to end the run.
  std::optional<std::string> Save(int64_t step);
  void Write(int64_t step);
  [[nodiscard]] bool IsDue(int64_t step) const;

  CheckpointSaverHookArgs args_;
  int64_t last_step_ = 0;
  double last_seconds_ = 0;
};

// Every log_step_count_steps global steps, whatever the loops: a line of metrics.jsonl. It comes
// before the saver's hook: a step that a checkpoint has is never missing there.
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
  double waited_ = 0;  // since then
};

// Every log_step_count_steps global steps: a line of the log, and the events global_step/sec and
// examples/sec.
class StepCounterHook final : public SessionRunHook {
 public:
  StepCounterHook(int64_t every, Log& log, const Clock& clock, EventWriter& events)
      : every_(every), log_(log), clock_(clock), events_(events) {}
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return every_; }

 private:
  void Report(const StepRecord& record);

  const int64_t every_;
  Log& log_;
  const Clock& clock_;
  EventWriter& events_;
  int64_t batch_size_ = 0;
  int64_t last_step_ = 0;
  double last_seconds_ = 0;
  bool is_first_ = true;
};

// Events of the loss, the learning rate and the model's summaries, at steps 1, 1 + every, ...
class SummarySaverHook final : public SessionRunHook {
 public:
  SummarySaverHook(int64_t every, const Clock& clock, EventWriter& events)
      : every_(every), clock_(clock), events_(events) {}
  void AfterCreateSession(const SessionInfo& session) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return every_; }

 private:
  const int64_t every_;
  const Clock& clock_;
  EventWriter& events_;
  std::vector<std::string> tags_;
};

// Ends the run where the loss is NaN or infinite.
class NanTensorHook final : public SessionRunHook {
 public:
  NanTensorHook(const Saver& saver, Log& log) : saver_(saver), log_(log) {}
  void AfterRun(RunContext& context, const RunValues& values) override;

 private:
  const Saver& saver_;
  Log& log_;
};

class StopAtStepHook final : public SessionRunHook {
 public:
  StopAtStepHook(int64_t last_step, std::string reason)
      : last_step_(last_step), reason_(std::move(reason)) {}
  void BeforeRun(RunContext& context) override {
    context.LimitIterations(last_step_ - context.global_step());
  }
  void AfterRun(RunContext& context, const RunValues& values) override {
    if (values.global_step >= last_step_) context.RequestStop(reason_);
  }

 private:
  const int64_t last_step_;
  const std::string reason_;
};

// A float as Python prints it: "2.0", "0.6931472", "1e-07".
[[nodiscard]] std::string PythonFloat(float value);

}  // namespace tpuest
