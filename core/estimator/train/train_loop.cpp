// Runs a training: loops of steps, with calls of the hooks between them, until it ends.
//
// Input: a TrainStep, the batches that an Infeed has read ahead, the hooks. Output: trained
// variables, a record of each step for the hooks, and the reason for the end of the run.
//
//   run     ├──────────── loop ─────────────┼──────────── loop ──────┼─ ...   hooks look between
//   loop    ├── chunk ──┼── chunk ──┼ chunk ┤    iterations_per_loop steps, fewer if a hook says so
//   chunk   ├── call ───┼── call ───┤            items taken at once, about 0.05 s of work (0.5 s
//   call    │ step │ step │ step │               on a device): a stop is answered within it
//
// With use_tpu: false, as in TensorFlow, hooks are called after each step at which they are due: a
// loop ends at the first such step, or with its chunk.
//
// A loop is: BeforeRun of every hook, RunSteps, SettleEnd, AfterRun of every hook. A call is one
// TrainStep::Run; inputs of other shapes and rare summaries begin a new call.
//
// Invariants whenever hooks are called:
//   - step_ is the value of the variable global_step, and resume.position is the position after
//     that step's batch: a run that resumes from a checkpoint saved now uses each batch once.
//   - Each record describes a step that was applied. A step that diverged has none.
//   - resume is Complete if this loop completes the run, so that its checkpoint says so.
// The division of steps into loops, chunks and calls changes no bit of the variables.

#include "core/estimator/train/train_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/estimator/group/control_messages.h"
#include "core/estimator/hooks/train_hooks.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

// A chunk takes about this long, so that a stop request is answered soon; a longer step is a chunk
// by itself.
constexpr double kChunkSeconds = 0.05;
constexpr size_t kMaxChunk = 64;
// A device's chunk is longer, because its batches are staged in one piece.
constexpr double kDeviceChunkSeconds = 0.5;
// The rates of the status line are averages over at least this time.
constexpr double kRateSeconds = 0.5;

}  // namespace

TrainLoop::TrainLoop(TrainLoopArgs args)
    : args_(std::move(args)),
      length_(*args_.context.options.run_config.tpu_config.loop, args_.period,
              args_.context.home.log) {
  step_ = *args_.variables.Get(std::string(nn::kGlobalStepName)).data<int64_t>();
  next_loop_begin_ = args_.cut ? args_.cut->loop_begin : step_;
  OpenWindow(args_.context.home.clock.Seconds());
}

std::string TrainLoop::Run() {
  while (true) {
    RunContext context(step_);
    context.set_iterations(NextIterations());
    for (SessionRunHook* const hook : args_.hooks) hook->BeforeRun(context);
    const RunValues values = RunSteps(context.iterations(), context.trace());
    if (rolls_back_) return std::string(kRolledBack);
    SettleEnd(context, values);
    for (SessionRunHook* const hook : args_.hooks) hook->AfterRun(context, values);
    if (input_ended_ && args_.context.options.use_tpu) FailAtEndOfInput();
    if (context.stop_reason()) return *context.stop_reason();
  }
}

int64_t TrainLoop::NextIterations() {
  if (args_.context.options.use_tpu) {
    const int64_t steps = length_.Next(step_);
    const int64_t made = step_ - next_loop_begin_;  // before the loop was shortened
    const auto& loop = *args_.context.options.run_config.tpu_config.loop;
    const bool has_count = loop.unit == IterationsPerLoopCounter::Unit::kCount;
    return has_count ? steps - made % steps : steps;
  }
  int64_t look = step_ + static_cast<int64_t>(chunk_);
  for (const SessionRunHook* const hook : args_.hooks) look = std::min(look, hook->NextLook(step_));
  return look - step_;
}

RunValues TrainLoop::RunSteps(int64_t iterations, StepTrace* trace) {
  const double begin = args_.context.home.clock.Seconds();
  const int64_t first = step_;
  loop_begin_ = next_loop_begin_;
  records_.clear();
  summaries_.clear();
  const int64_t last = step_ + iterations;
  while (step_ < last && !diverged_ && !args_.context.home.stop.requested()) {
    Note(hosts::Activity::kInput);
    const size_t left = trace != nullptr ? 1 : static_cast<size_t>(last - step_);
    std::vector<InfeedItem> items = args_.infeed.Take(std::min(chunk_, left), whole_chunks_);
    if (items.empty()) break;
    Note(hosts::Activity::kStep);
    RunChunk(items, std::exchange(trace, nullptr));
    ReportProgress();
  }
  Note(hosts::Activity::kElsewhere);
  if (args_.context.options.use_tpu) {
    length_.Ran(args_.context.home.clock.Seconds() - begin, step_ - first);
  }
  const bool is_cut = step_ < last && !diverged_ && args_.context.home.stop.requested();
  next_loop_begin_ = is_cut ? loop_begin_ : step_;
  const size_t count = records_.empty() ? 0 : summaries_.size() / records_.size();
  for (size_t i = 0; i < records_.size(); ++i) {
    records_[i].summaries = {summaries_.data() + i * count, count};
  }
  return {.global_step = step_, .steps = records_, .diverged = diverged_, .is_cut = is_cut};
}

void TrainLoop::RunChunk(std::vector<InfeedItem>& items, StepTrace* trace) {
  const Clock& clock = args_.context.home.clock;
  const double waited = args_.infeed.waited() - std::exchange(waited_, args_.infeed.waited());
  const double begin = clock.Seconds();
  const auto count = static_cast<double>(items.size());
  std::optional<int64_t> steps_per_call;
  std::span<InfeedItem> left(items);
  while (!left.empty() && !diverged_) {
    const std::span<InfeedItem> next = left.first(StepsOfCall(left.size()));
    const StepsMade made = args_.step.Run(next, {.with_rare_summaries = RareSummariesAreDue(),
                                                 .trace = trace,
                                                 .begins = [&] { OrderSteps(next); }});
    steps_per_call = made.steps_per_call();
    Record(made, left, waited / count);
    left = left.subspan(made.size());
  }
  // The time of a traced step is not typical.
  if (trace == nullptr) SizeChunk(steps_per_call, (clock.Seconds() - begin) / count);
}

void TrainLoop::OrderSteps(std::span<const InfeedItem> items) {
  hosts::Group* const group = args_.context.home.group;
  if (group == nullptr) return;
  group->SetStep(step_, step_seconds_);
  SendControl(*group, StepsMessage{.global_step = step_,
                                   .steps = static_cast<int64_t>(items.size()),
                                   .after = items.back().batch.after});
}

void TrainLoop::SizeChunk(const std::optional<int64_t>& steps_per_call, double step_seconds) {
  step_seconds_ = step_seconds;
  whole_chunks_ = steps_per_call.has_value();
  const double seconds = steps_per_call ? kDeviceChunkSeconds : kChunkSeconds;
  const auto most = steps_per_call ? static_cast<double>(*steps_per_call) : double{kMaxChunk};
  chunk_ = static_cast<size_t>(std::clamp(seconds / std::max(step_seconds, 1e-9), 1.0, most));
}

void TrainLoop::Note(hosts::Activity activity) const {
  if (args_.context.home.group != nullptr) args_.context.home.group->SetActivity(activity);
}

bool TrainLoop::RareSummariesAreDue() const {
  const int64_t every = args_.context.options.run_config.save_summary_steps.value_or(0);
  return args_.step.has_rare_summaries() && every > 0 && step_ % every == 0;
}

size_t TrainLoop::StepsOfCall(size_t most) const {
  const int64_t every = args_.context.options.run_config.save_summary_steps.value_or(0);
  if (!args_.step.has_rare_summaries() || every <= 0) return most;
  return std::min(most, static_cast<size_t>(every - step_ % every));
}

void TrainLoop::Record(const StepsMade& made, std::span<const InfeedItem> items, double waited) {
  for (size_t i = 0; i < made.size(); ++i) {
    const StepValues values = made.Values(i);
    if (values.diverged) {
      Diverge(values, items[i].batch);
      break;
    }
    skipped_in_a_row_ = 0;
    RecordStep(values);
    if (i == 0) records_.back().distributions = made.distributions();
    CallHost(made, i);
    records_.back().seconds = made.EndOf(i);
    records_.back().input_wait = waited;
    args_.resume.position = items[i].batch.after;
  }
  CheckGlobalStep();
}

// If every batch fails with the current weights, leaving out batches does not help.
void TrainLoop::Diverge(const StepValues& values, const Batch& batch) {
  const DivergedStep step{
      .loss = values.loss, .variable = values.not_finite, .records = RecordsOf(batch)};
  const OnNanOptions& on_nan = args_.context.options.on_nan;
  const bool skips = on_nan.policy == "skip_step" && ++skipped_in_a_row_ <= on_nan.max_skips;
  const bool rolls_back = on_nan.policy == "rollback" && args_.may_roll_back &&
                          !args_.saver.last_regular_prefix().empty();
  if (!skips && !rolls_back) {
    diverged_ = step;
    return;
  }
  args_.resume.position = batch.after;
  rolls_back_ = rolls_back;
  if (rolls_back) diverged_ = step;
  args_.context.home.log.Warning(
      "{} Step {} was not applied; skipping its batch{}{}", DivergedMessage(step), step_ + 1,
      step.records.empty() ? "" : fmt::format(" ({})", step.records),
      rolls_back ? fmt::format(", returning to {}", args_.saver.last_regular_prefix()) : "");
}

// Names only the first file and its records, because a batch may have thousands.
std::string TrainLoop::RecordsOf(const Batch& batch) const {
  if (batch.rows.empty()) return "";
  const std::vector<std::string>& files = args_.infeed.files();
  const Provenance& first = batch.rows.front();
  std::string records;
  size_t named = 0;
  for (const Provenance& row : batch.rows) {
    if (row.file != first.file || named == 8) continue;
    records += fmt::format("{}{}", named++ == 0 ? "" : ", ", row.record);
  }
  const size_t more = batch.rows.size() - named;
  const auto file = static_cast<size_t>(first.file);
  return fmt::format("{}records {}{}", file < files.size() ? files[file] + ": " : "", records,
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

void TrainLoop::RecordStep(const StepValues& values) {
  summaries_.insert(summaries_.end(), values.summaries.begin(), values.summaries.end());
  records_.push_back({.step = ++step_, .loss = values.loss, .learning_rate = values.learning_rate});
  loss_ = values.loss;
  ++steps_made_;
}

void TrainLoop::CallHost(const StepsMade& made, size_t step) {
  const HostCall* const call = made.host_call();
  if (call == nullptr) return;
  const EstimatorOptions& options = args_.context.options;
  const int64_t every =
      options.use_tpu ? options.run_config.tpu_config.experimental_host_call_every_n_steps : 1;
  const int64_t began = step_ - 1;
  if ((began - loop_begin_) % every != 0) return;
  const HostCallScalars scalars = args_.host_call.Run(*call, made.HostCallTensors(step), began);
  if (scalars.values.empty()) return;
  args_.events.Summary(args_.context.home.clock.WallSeconds(), scalars.step, scalars.values);
}

// Determines whether this loop is the last one before the hooks see it, because a checkpoint that
// they save records whether the run is complete.
void TrainLoop::SettleEnd(RunContext& context, const RunValues& values) {
  if (values.diverged) return;
  if (AtGoal()) {
    args_.resume.Complete();
    return;  // StopAtStepHook reports the reason
  }
  const StopSignal& stop = args_.context.home.stop;
  input_ended_ = !stop.requested() && args_.infeed.AtEnd();
  if (input_ended_ && !args_.context.options.use_tpu) {
    args_.resume.Complete();
    context.RequestStop("end of input");
  } else if (stop.requested()) {
    context.RequestStop(ReasonOf(stop));
  }
}

// The finished steps are saved first, so the Error loses none of them.
void TrainLoop::FailAtEndOfInput() {
  if (args_.saves && !args_.saver.HasSaved(step_, args_.resume)) {
    args_.saver.Save(step_, args_.resume);
  }
  throw Error(Code::kData,
              fmt::format("End of sequence: the input of train ended after step {}, {}", step_,
                          args_.goal ? fmt::format("before step {}", *args_.goal)
                                     : std::string("before the last step")),
              "repeat: -1 in the input_fn repeats the input without end; with use_tpu: false "
              "training ends with the input")
      .Key("train_spec.input_fn");
}

void TrainLoop::CheckGlobalStep() const {
  const int64_t stored = *args_.variables.Get(std::string(nn::kGlobalStepName)).data<int64_t>();
  if (stored == step_) return;
  throw Error(Code::kUsage,
              fmt::format("It seems that global step (tf.train.get_global_step) has not been "
                          "increased. Current value (could be stable): {} vs previous value: {}. "
                          "You could increase the global step by passing "
                          "tf.train.get_global_step() to Optimizer.apply_gradients or "
                          "Optimizer.minimize.",
                          stored, step_ - 1));
}

void TrainLoop::ReportProgress() {
  ProgressListener* const progress = args_.context.home.progress;
  if (progress == nullptr || records_.empty()) return;
  const double seconds = records_.back().seconds - window_begin_;
  if (seconds >= kRateSeconds || examples_per_sec_ == 0) {
    const auto examples = static_cast<double>((step_ - window_step_) * args_.batch_size);
    examples_per_sec_ = seconds > 0 ? examples / seconds : 0;
    input_wait_ = seconds > 0 ? std::min(1.0, (waited_ - window_waited_) / seconds) : 0;
  }
  if (seconds >= kRateSeconds) OpenWindow(records_.back().seconds);
  std::optional<int64_t> next_evaluation;
  for (const CheckpointSaverListener* const listener : args_.listeners) {
    if (const auto next = listener->NextEvaluation()) next_evaluation = next;
  }
  progress->Report({.activity = "train",
                    .step = step_,
                    .goal = args_.goal,
                    .loss = loss_,
                    .examples_per_sec = examples_per_sec_,
                    .input_wait = input_wait_,
                    .next_evaluation = next_evaluation,
                    .last_checkpoint = args_.saver.last_step()});
}

void TrainLoop::OpenWindow(double seconds) {
  window_begin_ = seconds;
  window_step_ = step_;
  window_waited_ = waited_;
}

}  // namespace tpuest
