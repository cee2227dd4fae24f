#include "core/estimator/hooks/train_hooks.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/base/text.h"

namespace tpuest {

void CheckpointSaverHook::Begin(HookHome& home) {
  home_ = &home;
  for (CheckpointSaverListener* const listener : listeners_) listener->Begin();
}

void CheckpointSaverHook::AfterCreateSession(const SessionInfo& session) {
  std::ignore = Save(session.global_step);
  if (home_->resume->cut) last_step_ = home_->resume->cut->saved;
}

void CheckpointSaverHook::AfterRun(RunContext& context, const RunValues& values) {
  if (values.diverged || values.is_cut) return;
  if (!IsDue(values.global_step) && !context.wants_save()) return;
  if (const auto reason = Save(values.global_step)) context.RequestStop(*reason);
}

bool CheckpointSaverHook::IsDue(int64_t step) const {
  if (save_steps_.value_or(0) > 0) {
    return home_->loops_end_at_periods ? step / *save_steps_ > last_step_ / *save_steps_
                                       : step >= last_step_ + *save_steps_;
  }
  const auto secs = static_cast<double>(save_secs_.value_or(0));
  return secs > 0 && home_->clock.Seconds() >= last_seconds_ + secs;
}

int64_t CheckpointSaverHook::NextLook(int64_t global_step) const {
  if (save_steps_.value_or(0) <= 0) return kNeverLooks;
  return std::max(last_step_ + *save_steps_, global_step + 1);
}

void CheckpointSaverHook::End(int64_t global_step) {
  if (!home_->saver->HasSaved(global_step, *home_->resume)) std::ignore = Save(global_step);
  for (CheckpointSaverListener* const listener : listeners_) listener->End(global_step);
}

std::optional<std::string> CheckpointSaverHook::Save(int64_t step) {
  home_->log.Info("Calling checkpoint listeners before saving checkpoint {}...", step);
  for (CheckpointSaverListener* const listener : listeners_) listener->BeforeSave(step);
  if (!home_->saver->HasSaved(step, *home_->resume)) Write(step);
  last_step_ = step;
  last_seconds_ = home_->clock.Seconds();
  home_->log.Info("Calling checkpoint listeners after saving checkpoint {}...", step);
  std::optional<std::string> reason;
  for (CheckpointSaverListener* const listener : listeners_) {
    const std::optional<std::string> given = listener->AfterSave(step);
    if (!given) continue;
    home_->log.Info("A CheckpointSaverListener requested that training be stopped: {}", *given);
    if (!reason) reason = given;
  }
  return reason;
}

void CheckpointSaverHook::Write(int64_t step) {
  home_->events->SessionLog(home_->clock.WallSeconds(), step,
                            {.status = SessionLogData::Status::kCheckpoint,
                             .checkpoint_path = home_->saver->base_path()});
  home_->events->Flush();
  home_->saver->Save(step, *home_->resume);
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
                   .input_wait = seconds > 0 ? std::min(1.0, waited_ / seconds) : 0,
                   .time = clock_.WallSeconds() - (clock_.Seconds() - record.seconds)});
  last_step_ = record.step;
  last_seconds_ = record.seconds;
  waited_ = 0;
}

void ExamplesPerSecondHook::AfterCreateSession(const SessionInfo& session) {
  batch_size_ = session.batch_size;
  last_seconds_ = clock_.Seconds();
}

void ExamplesPerSecondHook::AfterRun(RunContext& context, const RunValues& values) {
  for (const StepRecord& record : values.steps) {
    if (is_first_) {
      // The first loss is that of the initial variables of the run.
      log_.Info("loss = {}, step = {}", PythonFloat(record.loss), context.global_step());
      first_step_ = context.global_step();
      is_first_ = false;
      if (names_begins_) continue;
    }
    const int64_t begun = record.step - 1;
    if (names_begins_ && (begun - first_step_) % every_ == 0) ReportLoss(record, begun);
    if (!names_begins_ && record.step % every_ == 0) ReportLoss(record, record.step);
  }
  if (!values.steps.empty()) ReportRates(values.steps.back());
}

void ExamplesPerSecondHook::ReportLoss(const StepRecord& record, int64_t step) {
  log_.Info("loss = {}, step = {} ({:.3f} sec)", PythonFloat(record.loss), step,
            record.seconds - last_seconds_);
  last_seconds_ = record.seconds;
}

void ExamplesPerSecondHook::ReportRates(const StepRecord& last) {
  if (!timer_.IsDue(last.step, last.seconds)) return;
  const std::optional<int64_t> begin = timer_.last_step();
  const double seconds = last.seconds - timer_.last_seconds();
  timer_.Trigger(last.step, last.seconds);
  if (!begin || seconds <= 0) return;
  const double steps_per_sec = static_cast<double>(last.step - *begin) / seconds;
  const double examples_per_sec = steps_per_sec * static_cast<double>(batch_size_);
  log_.Info("global_step/sec: {:g}", steps_per_sec);
  log_.Info("examples/sec: {:g}", examples_per_sec);
  const double now = clock_.WallSeconds();
  events_.Scalar(now, last.step, "global_step/sec", static_cast<float>(steps_per_sec));
  events_.Scalar(now, last.step, "examples/sec", static_cast<float>(examples_per_sec));
  events_.Flush();
}

void SummarySaverHook::AfterCreateSession(const SessionInfo& session) {
  tags_.assign(session.summary_tags.begin(), session.summary_tags.end());
  elsewhere_ = session.host_call_tags;
}

void SummarySaverHook::Begin(HookHome& home) {
  home_ = &home;
  output_.Open(home);
  if (home.trains()) return;
  batches_ = 0;  // each evaluation counts its own batches
  timer_.Reset();
}

void SummarySaverHook::BeforeRun(RunContext& context) {
  if (home_->trains()) return;
  is_asked_ = IsDue(++batches_, home_->clock.Seconds());
  if (is_asked_) context.RequestSummaries();
}

void SummarySaverHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  if (!home_->trains()) {
    if (is_asked_) Write(values.steps.front(), values.global_step);
    return;
  }
  for (const StepRecord& record : values.steps) {
    if (IsDue(record.step, record.seconds)) Write(record, record.step);
  }
}

// An interval in steps counts from step 1, not from the run's start, so an interrupted run writes
// its events at the same steps as an uninterrupted one.
bool SummarySaverHook::IsDue(int64_t step, double seconds) const {
  if (timer_.period() > 0) return (step - 1) % timer_.period() == 0;
  return timer_.IsDue(step, seconds);
}

// Does not write the loss of an evaluation's batch, only that of all batches.
void SummarySaverHook::Write(const StepRecord& record, int64_t global_step) {
  timer_.Trigger(record.step, record.seconds);
  std::vector<SummaryValue> summaries;
  if (home_->trains() && !elsewhere_.contains("loss")) {
    summaries.push_back({.tag = "loss", .value = record.loss});
  }
  if (record.learning_rate && !elsewhere_.contains("learning_rate")) {
    summaries.push_back({.tag = "learning_rate", .value = *record.learning_rate});
  }
  for (size_t i = 0; i < tags_.size(); ++i) {
    if (tags_[i] == "loss" || (tags_[i] == "learning_rate" && record.learning_rate)) continue;
    // A summary that reads only weights is NaN in steps that did not compute it.
    if (std::isnan(record.summaries[i])) continue;
    summaries.push_back({.tag = tags_[i], .value = record.summaries[i]});
  }
  summaries.insert(summaries.end(), record.distributions.begin(), record.distributions.end());
  if (summaries.empty()) return;
  output_.events().Summary(home_->clock.WallSeconds(), global_step, summaries);
}

void HookEvents::Open(const HookHome& home) {
  home_ = &home;
  events_ = home.events;
  if (!home.trains() || !output_dir_ || *output_dir_ == home.model_dir) return;
  own_ = std::make_unique<EventWriter>(*output_dir_, home.clock.WallSeconds());
  events_ = own_.get();
}

EventWriter& HookEvents::events() {
  if (events_ != nullptr) return *events_;
  if (output_dir_ && own_ == nullptr) {
    own_ = std::make_unique<EventWriter>(*output_dir_, home_->clock.WallSeconds());
  }
  if (own_ == nullptr && !home_->open_events) {
    throw Error(Code::kUsage, "a prediction has no events of its own",
                "set output_dir to a folder for them");
  }
  events_ = own_ == nullptr ? &home_->open_events() : own_.get();
  return *events_;
}

void StepCounterHook::Begin(HookHome& home) {
  home_ = &home;
  output_.Open(home);
}

void StepCounterHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  const double now = home_->clock.Seconds();
  if (values.steps.empty() || !timer_.IsDue(values.global_step, now)) return;
  const std::optional<int64_t> last = timer_.last_step();
  const double seconds = now - timer_.last_seconds();
  timer_.Trigger(values.global_step, now);
  if (!last || seconds <= 0) return;
  const double rate = static_cast<double>(values.global_step - *last) / seconds;
  home_->log.Info("global_step/sec: {:g}", rate);
  output_.events().Scalar(home_->clock.WallSeconds(), values.global_step, "global_step/sec",
                          static_cast<float>(rate));
  output_.events().Flush();
}

std::string DivergedMessage(const DivergedStep& step) {
  if (std::isnan(step.loss)) return "Model diverged with loss = NaN.";
  if (!std::isfinite(step.loss)) {
    return fmt::format("Model diverged with loss = {}.", PythonFloat(step.loss));
  }
  return fmt::format("Model diverged with loss = {}: {} would be infinite or NaN.",
                     PythonFloat(step.loss), step.variable);
}

void NanTensorHook::LookAt(RunContext& context, const std::map<std::string, Tensor>& predictions) {
  for (const auto& [name, value] : predictions) {
    if (!IsFloating(value.dtype())) continue;
    int64_t i = 0;
    while (i < value.elements() && !std::isnan(value.AsDouble(i))) ++i;
    if (i == value.elements()) continue;
    const std::string message = fmt::format("The prediction '{}' is NaN.", name);
    if (fail_on_nan_loss_) {
      home_->log.Write(LogLevel::kError, message);
      throw Error(Code::kDiverged, message,
                  "its batch is not written; `tpuest inspect` lists weights that are not finite");
    }
    home_->log.Warning("{}", message);
    return context.RequestStop("diverged");
  }
}

void NanTensorHook::AfterRun(RunContext& context, const RunValues& values) {
  if (home_->predictions != nullptr) return LookAt(context, *home_->predictions);
  if (!values.diverged) return;
  const std::string message = DivergedMessage(*values.diverged);
  const std::string& records = values.diverged->records;
  const std::string at = records.empty() ? "" : fmt::format(" ({})", records);
  const std::string step =
      home_->trains()
          ? fmt::format("step {}{} was not applied", values.global_step + 1, at)
          : fmt::format("in batch {} of the evaluation{}", values.steps.front().step, at);
  if (!fail_on_nan_loss_) {
    home_->log.Warning("{} ({})", message, step);
    return context.RequestStop("diverged");
  }
  home_->log.Write(LogLevel::kError, message);
  const std::string prefix = home_->saver == nullptr ? "" : home_->saver->last_prefix();
  const std::string saved = prefix.empty() ? "" : fmt::format("; {} is good", prefix);
  if (!home_->trains()) throw Error(Code::kDiverged, message, step);
  throw Error(
      Code::kDiverged, message,
      fmt::format("{}{}; try a lower learning rate, clipping, or tpuest.on_nan", step, saved));
}

StopAtStepHook::StopAtStepHook(std::optional<int64_t> num_steps, std::optional<int64_t> last_step,
                               std::string reason)
    : num_steps_(num_steps), last_step_(last_step.value_or(0)), reason_(std::move(reason)) {
  if (!num_steps && !last_step) {
    throw Error(Code::kUsage, "One of num_steps or last_step must be specified.");
  }
  if (num_steps && last_step) {
    throw Error(Code::kUsage, "Only one of num_steps or last_step can be specified.");
  }
}

std::string PythonFloat(float value) {
  std::string text = NumberText(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace tpuest
