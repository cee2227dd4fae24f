#include "core/estimator/train_hooks.h"

#include <cmath>
#include <tuple>

#include "core/base/text.h"

namespace tpuest {

void CheckpointSaverHook::Begin() {
  for (CheckpointSaverListener* const listener : args_.listeners) listener->Begin();
}

void CheckpointSaverHook::AfterCreateSession(const SessionInfo& session) {
  std::ignore = Save(session.global_step);
}

void CheckpointSaverHook::AfterRun(RunContext& context, const RunValues& values) {
  if (values.diverged_loss || !IsDue(values.global_step)) return;
  if (const auto reason = Save(values.global_step)) context.RequestStop(*reason);
}

bool CheckpointSaverHook::IsDue(int64_t step) const {
  const int64_t steps = args_.config.save_checkpoints_steps.value_or(0);
  if (steps > 0) {
    const auto counter = ParseIterationsPerLoop(args_.config.tpu_config.iterations_per_loop);
    const bool at_multiples = counter->unit == IterationsPerLoopCounter::Unit::kAuto;
    return at_multiples ? step / steps > last_step_ / steps : step >= last_step_ + steps;
  }
  const auto secs = static_cast<double>(args_.config.save_checkpoints_secs.value_or(0));
  return secs > 0 && args_.clock.Seconds() >= last_seconds_ + secs;
}

void CheckpointSaverHook::End(int64_t global_step) {
  if (args_.saver.last_step() != global_step) std::ignore = Save(global_step);
  for (CheckpointSaverListener* const listener : args_.listeners) listener->End(global_step);
}

std::optional<std::string> CheckpointSaverHook::Save(int64_t step) {
  args_.log.Info("Calling checkpoint listeners before saving checkpoint {}...", step);
  for (CheckpointSaverListener* const listener : args_.listeners) listener->BeforeSave(step);
  if (args_.saver.last_step() != step) Write(step);
  last_step_ = step;
  last_seconds_ = args_.clock.Seconds();
  args_.log.Info("Calling checkpoint listeners after saving checkpoint {}...", step);
  std::optional<std::string> reason;
  for (CheckpointSaverListener* const listener : args_.listeners) {
    const std::optional<std::string> given = listener->AfterSave(step);
    if (!given) continue;
    args_.log.Info("A CheckpointSaverListener requested that training be stopped: {}", *given);
    if (!reason) reason = given;
  }
  return reason;
}

void CheckpointSaverHook::Write(int64_t step) {
  args_.events.SessionLog(
      args_.clock.WallSeconds(), step,
      {.status = SessionLogData::Status::kCheckpoint, .checkpoint_path = args_.saver.base_path()});
  args_.events.Flush();
  args_.saver.Save(step);
}

void MetricsLogHook::AfterCreateSession(const SessionInfo& session) {
  batch_size_ = session.batch_size;
  last_step_ = session.global_step;
  last_seconds_ = clock_.Seconds();
}

void MetricsLogHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  for (const StepRecord& record : values.steps) {
    waited_ += record.input_wait;
    if (record.step % every_ == 0) Report(record);
  }
}

void MetricsLogHook::Report(const StepRecord& record) {
  const double seconds = record.seconds - last_seconds_;
  const auto examples = static_cast<double>((record.step - last_step_) * batch_size_);
  metrics_.Append({.step = record.step,
                   .loss = record.loss,
                   .learning_rate = record.learning_rate,
                   .examples_per_sec = seconds > 0 ? examples / seconds : 0,
                   .input_wait = seconds > 0 ? std::min(1.0, waited_ / seconds) : 0});
  last_step_ = record.step;
  last_seconds_ = record.seconds;
  waited_ = 0;
}

void StepCounterHook::AfterCreateSession(const SessionInfo& session) {
  batch_size_ = session.batch_size;
  last_step_ = session.global_step;
  last_seconds_ = clock_.Seconds();
}

void StepCounterHook::AfterRun(RunContext& context, const RunValues& values) {
  for (const StepRecord& record : values.steps) {
    if (is_first_) {
      // The loss of the variables as the run found them.
      log_.Info("loss = {}, step = {}", PythonFloat(record.loss), context.global_step());
      is_first_ = false;
    }
    if (record.step % every_ == 0) Report(record);
  }
}

void StepCounterHook::Report(const StepRecord& record) {
  const double seconds = record.seconds - last_seconds_;
  const double steps_per_sec =
      seconds > 0 ? static_cast<double>(record.step - last_step_) / seconds : 0;
  const double examples_per_sec = steps_per_sec * static_cast<double>(batch_size_);
  log_.Info("loss = {}, step = {} ({:.3f} sec)", PythonFloat(record.loss), record.step, seconds);
  if (seconds > 0) {
    log_.Info("global_step/sec: {:g}", steps_per_sec);
    log_.Info("examples/sec: {:g}", examples_per_sec);
    const double now = clock_.WallSeconds();
    events_.Scalar(now, record.step, "global_step/sec", static_cast<float>(steps_per_sec));
    events_.Scalar(now, record.step, "examples/sec", static_cast<float>(examples_per_sec));
    events_.Flush();
  }
  last_step_ = record.step;
  last_seconds_ = record.seconds;
}

void SummarySaverHook::AfterCreateSession(const SessionInfo& session) {
  tags_.assign(session.summary_tags.begin(), session.summary_tags.end());
}

void SummarySaverHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  for (const StepRecord& record : values.steps) {
    if ((record.step - 1) % every_ != 0) continue;
    std::vector<SummaryValue> summaries = {{.tag = "loss", .value = record.loss}};
    if (record.learning_rate) {
      summaries.push_back({.tag = "learning_rate", .value = *record.learning_rate});
    }
    for (size_t i = 0; i < tags_.size(); ++i) {
      if (tags_[i] == "loss" || (tags_[i] == "learning_rate" && record.learning_rate)) continue;
      summaries.push_back({.tag = tags_[i], .value = record.summaries[i]});
    }
    events_.Summary(clock_.WallSeconds(), record.step, summaries);
  }
}

void NanTensorHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  if (!values.diverged_loss) return;
  const std::string message =
      fmt::format("Model diverged with loss = {}.",
                  std::isnan(*values.diverged_loss) ? "NaN" : PythonFloat(*values.diverged_loss));
  log_.Write(Level::kError, message);
  const std::string saved =
      saver_.last_prefix().empty() ? "" : fmt::format("; {} is good", saver_.last_prefix());
  throw Error(Code::kDiverged, message,
              fmt::format("step {} was not applied{}; try a lower learning rate, or clipping",
                          values.global_step + 1, saved));
}

std::string PythonFloat(float value) {
  std::string text = NumberText(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace tpuest
