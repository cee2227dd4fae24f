#include "core/estimator/evaluate/inference_hooks.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/nn/global_step.h"

namespace tpuest {

InferenceHooks::InferenceHooks(const EstimatorContext& context, InferenceModel& model,
                               const std::vector<SessionRunHook*>& of_call,
                               const SpecHooks& of_spec, std::function<EventWriter&()> open_events)
    : model_(model),
      hooks_(of_call),
      global_step_(*model.store().Get(std::string(nn::kGlobalStepName)).data<int64_t>()),
      graph_(context.home.backend, context.home.registry, model.store(), model.graph()),
      home_({.log = context.home.log,
             .clock = context.home.clock,
             .stop = context.home.stop,
             .model_dir = context.model_dir,
             .graph = graph_,
             .open_events = std::move(open_events)}),
      run_(global_step_) {
  for (const auto& hook : of_spec) hooks_.push_back(hook.get());
}

void InferenceHooks::Begin(bool restored, int64_t batch_size) {
  std::vector<std::string> tags;
  for (const auto& [tag, value] : model_.spec().summaries) tags.push_back(tag);
  SessionInfo session{.model_dir = home_.model_dir,
                      .global_step = global_step_,
                      .restored = restored,
                      .batch_size = batch_size,
                      .summary_tags = tags};
  if (!home_.open_events) {
    for (const auto& [name, value] : model_.spec().predictions) session.predictions.push_back(name);
  }
  for (SessionRunHook* const hook : hooks_) hook->Begin(home_);
  for (SessionRunHook* const hook : hooks_) hook->AfterCreateSession(session);
}

void InferenceHooks::BeforeBatch() {
  run_ = RunContext(global_step_);
  run_.set_iterations(1);
  for (SessionRunHook* const hook : hooks_) hook->BeforeRun(run_);
}

bool InferenceHooks::AfterBatch(const Batch& batch, float loss) {
  BatchSummaries summaries;
  if (run_.wants_summaries()) summaries = model_.SummariesOf(batch);
  const StepRecord record{.step = ++batches_,
                          .loss = loss,
                          .seconds = home_.clock.Seconds(),
                          .summaries = summaries.scalars,
                          .distributions = std::move(summaries.distributions)};
  home_.last_step = {.step = record.step, .loss = loss, .seconds = record.seconds};
  RunValues values{.global_step = global_step_, .steps = {&record, 1}};
  if (!std::isfinite(loss)) values.diverged = DivergedStep{.loss = loss};
  return After(values);
}

bool InferenceHooks::AfterBatch(const std::map<std::string, Tensor>& predictions) {
  const StepRecord record{.step = ++batches_,
                          .loss = std::numeric_limits<float>::quiet_NaN(),
                          .seconds = home_.clock.Seconds()};
  home_.predictions = &predictions;
  const bool ends = After({.global_step = global_step_, .steps = {&record, 1}});
  home_.predictions = nullptr;
  return ends;
}

bool InferenceHooks::After(const RunValues& values) {
  for (SessionRunHook* const hook : hooks_) hook->AfterRun(run_, values);
  return run_.stop_reason().has_value();
}

void InferenceHooks::End(const std::map<std::string, Tensor>* metrics) {
  home_.metrics = metrics;
  for (SessionRunHook* const hook : hooks_) hook->End(global_step_);
}

}  // namespace tpuest
