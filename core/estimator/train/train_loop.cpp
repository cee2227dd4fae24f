#include "core/estimator/train/train_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/nn/global_step.h"

namespace tpuest {
namespace {

// One call of a program takes about so long, so that a stop request is answered soon; a step that
// takes longer is a call of its own.
constexpr double kChunkSeconds = 0.05;
constexpr size_t kMaxChunk = 64;
// On a device, whose batches are staged in one piece, longer.
constexpr double kDeviceChunkSeconds = 0.5;
// Rates for the status line are taken over so long.
constexpr double kRateSeconds = 0.5;

}  // namespace

TrainLoop::TrainLoop(TrainLoopArgs args)
    : args_(std::move(args)),
      length_(
          *ParseIterationsPerLoop(args_.context.options.run_config.tpu_config.iterations_per_loop),
          args_.period, args_.context.home.log) {
  step_ = *args_.variables.Get(std::string(nn::kGlobalStepName)).data<int64_t>();
  OpenWindow(args_.context.home.clock.Seconds());
}

std::string TrainLoop::Run() {
  while (true) {
    RunContext context(step_);
    context.set_iterations(length_.Next(step_));
    for (SessionRunHook* const hook : args_.hooks) hook->BeforeRun(context);
    const RunValues values = RunSteps(context.iterations(), context.trace());
    SettleEnd(context, values);
    for (SessionRunHook* const hook : args_.hooks) hook->AfterRun(context, values);
    if (input_ended_ && args_.context.options.use_tpu) FailAtEndOfInput();
    if (context.stop_reason()) return *context.stop_reason();
  }
}

RunValues TrainLoop::RunSteps(int64_t iterations, StepTrace* trace) {
  const double begin = args_.context.home.clock.Seconds();
  loop_begin_ = step_;
  records_.clear();
  summaries_.clear();
  const int64_t last = step_ + iterations;
  while (step_ < last && !diverged_loss_ && !args_.context.home.stop.requested()) {
    const size_t left = trace != nullptr ? 1 : static_cast<size_t>(last - step_);
    std::vector<InfeedItem> items = args_.infeed.Take(std::min(chunk_, left), whole_chunks_);
    if (items.empty()) break;
    RunChunk(items, std::exchange(trace, nullptr));
    ReportProgress();
  }
  length_.Ran(args_.context.home.clock.Seconds() - begin, step_ - loop_begin_);
  const size_t count = records_.empty() ? 0 : summaries_.size() / records_.size();
  for (size_t i = 0; i < records_.size(); ++i) {
    records_[i].summaries = {summaries_.data() + i * count, count};
  }
  return {.global_step = step_, .steps = records_, .diverged_loss = diverged_loss_};
}

void TrainLoop::RunChunk(std::vector<InfeedItem>& items, StepTrace* trace) {
  const double waited = args_.infeed.waited() - std::exchange(waited_, args_.infeed.waited());
  const double begin = args_.context.home.clock.Seconds();
  const auto count = static_cast<double>(items.size());
  size_t first = 0;
  std::optional<int64_t> per_call;
  while (first < items.size() && !diverged_loss_) {
    const TrainStep step = args_.step_for(items[first].batch, trace);
    per_call = step.program->steps_per_call();
    size_t end = first + 1;
    while (end < items.size() && SameShapes(items[end].batch, items[first].batch) &&
           !HasSummariesDue(step, step_ + static_cast<int64_t>(end - first))) {
      ++end;
    }
    const double span_begin = args_.context.home.clock.Seconds();
    RunSpan(step, std::span(items).subspan(first, end - first), waited / count);
    if (trace != nullptr && trace->events().empty()) {
      trace->Add({"step", "session.run", 0, span_begin, args_.context.home.clock.Seconds()});
    }
    first = end;
  }
  if (trace != nullptr) return;  // its time says nothing about others
  const double per_step = (args_.context.home.clock.Seconds() - begin) / count;
  whole_chunks_ = per_call.has_value();
  const double most = per_call ? static_cast<double>(*per_call) : static_cast<double>(kMaxChunk);
  const double fit = (per_call ? kDeviceChunkSeconds : kChunkSeconds) / std::max(per_step, 1e-9);
  chunk_ = static_cast<size_t>(std::clamp(fit, 1.0, most));
}

void TrainLoop::RunSpan(const TrainStep& step, std::span<InfeedItem> items, double waited) {
  std::vector<StepFeeds> feeds;
  for (InfeedItem& item : items) {
    if (item.feeds.empty()) item.feeds = step.program->Prepare(InputsOf(*step.model, item.batch));
    feeds.push_back(std::move(item.feeds));
  }
  std::vector<float> weights;
  std::vector<SummaryValue> distributions;
  if (HasSummariesDue(step, step_)) {
    weights = step.weights->Compute();
    if (!step.distributions->empty()) distributions = step.distributions->Compute(items[0].batch);
  }
  const Clock& clock = args_.context.home.clock;
  const double begin = clock.Seconds();
  const std::vector<StepResult> results = step.program->RunDevice(feeds);
  const double seconds = (clock.Seconds() - begin) / static_cast<double>(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    Record(step, results[i], weights);
    weights.clear();  // of the first step alone
    if (diverged_loss_) break;
    records_.back().distributions = std::exchange(distributions, {});
    CallHost(step, feeds[i], results[i]);
    records_.back().seconds = begin + seconds * static_cast<double>(i + 1);
    records_.back().input_wait = waited;
    args_.resume.position = items[i].batch.after;
  }
  CheckGlobalStep();
}

bool TrainLoop::HasSummariesDue(const TrainStep& step, int64_t global_step) const {
  if (step.weights->empty() && step.distributions->empty()) return false;
  const int64_t every = args_.context.options.run_config.save_summary_steps;
  return every > 0 && global_step % every == 0;
}

void TrainLoop::Record(const TrainStep& step, const StepResult& result,
                       std::span<const float> weights) {
  const auto mean = [&](size_t fetch) {
    return ReplicaMean(result.fetches[step.program->DeviceIndex(fetch)]);
  };
  const float loss = mean(0);
  if (!result.applied || !std::isfinite(loss)) {
    diverged_loss_ = loss;
    return;
  }
  StepRecord record{.step = ++step_, .loss = loss};
  if (step.has_learning_rate) record.learning_rate = mean(1);
  size_t fetch = step.has_learning_rate ? 2 : 1;
  size_t weight = 0;
  for (const bool of_weights : step.weights->among()) {
    constexpr float kNotComputed = std::numeric_limits<float>::quiet_NaN();
    summaries_.push_back(!of_weights       ? mean(fetch++)
                         : weights.empty() ? kNotComputed
                                           : weights[weight++]);
  }
  records_.push_back(record);
  loss_ = loss;
  ++steps_made_;
}

void TrainLoop::CallHost(const TrainStep& step, const StepFeeds& feeds, const StepResult& result) {
  const EstimatorOptions& options = args_.context.options;
  const int64_t every =
      options.use_tpu ? options.run_config.tpu_config.experimental_host_call_every_n_steps : 1;
  const int64_t began = step_ - 1;
  if (step.host_call.empty() || (began - loop_begin_) % every != 0) return;
  const std::vector<Tensor> tensors = step.program->Finish(feeds, result, step.host_call);
  args_.host_call->Run(*step.model->spec.host_call, tensors, began);
}

// Why this loop is the last one, before the hooks see it: a checkpoint that they save knows whether
// the run is complete.
void TrainLoop::SettleEnd(RunContext& context, const RunValues& values) {
  if (values.diverged_loss) return;
  if (AtGoal()) {
    args_.resume.goal.reset();
    return;  // StopAtStepHook has the reason
  }
  const StopSignal& stop = args_.context.home.stop;
  input_ended_ = !stop.requested() && args_.infeed.AtEnd();
  if (input_ended_ && !args_.context.options.use_tpu) {
    args_.resume.goal.reset();
    context.RequestStop("end of input");
  } else if (stop.requested()) {
    context.RequestStop(ReasonOf(stop));
  }
}

// The steps that were made are kept.
void TrainLoop::FailAtEndOfInput() {
  if (args_.saves && args_.saver.last_step() != step_) args_.saver.Save(step_, args_.resume);
  throw Error(Code::kData,
              fmt::format("End of sequence: the input of train ended after step {}, {}", step_,
                          args_.goal ? fmt::format("before step {}", *args_.goal)
                                     : std::string("before the last step")),
              "repeat: -1 in the input_fn gives batches for ever; use_tpu: false ends where the "
              "input ends")
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
