#include "core/estimator/evaluate/inference_hooks.h"

#include <cmath>

#include "core/nn/global_step.h"

namespace tpuest {

InferenceHooks::InferenceHooks(const EstimatorContext& context, InferenceModel& model,
                               const std::vector<SessionRunHook*>& of_call,
                               const SpecHooks& of_spec)
    : hooks_(of_call),
      global_step_(*model.store().Get(std::string(nn::kGlobalStepName)).data<int64_t>()),
      graph_(context.home.backend, context.home.registry, model.store(), model.graph()),
      home_({.log = context.home.log,
             .clock = context.home.clock,
             .stop = context.home.stop,
             .model_dir = context.model_dir,
             .graph = graph_}),
      run_(global_step_) {
  for (const auto& hook : of_spec) hooks_.push_back(hook.get());
}

void InferenceHooks::Begin(bool restored, int64_t batch_size) {
  const SessionInfo session{.model_dir = home_.model_dir,
                            .global_step = global_step_,
                            .restored = restored,
                            .batch_size = batch_size};
  for (SessionRunHook* const hook : hooks_) hook->Begin(home_);
  for (SessionRunHook* const hook : hooks_) hook->AfterCreateSession(session);
}

void InferenceHooks::BeforeBatch() {
  run_ = RunContext(global_step_);
  run_.set_iterations(1);
  for (SessionRunHook* const hook : hooks_) hook->BeforeRun(run_);
}

bool InferenceHooks::AfterBatch(const std::optional<float>& loss) {
  RunValues values{.global_step = global_step_};
  const StepRecord batch{
      .step = ++batches_, .loss = loss.value_or(0), .seconds = home_.clock.Seconds()};
  if (loss) {
    values.steps = {&batch, 1};
    home_.last_step = batch;
  }
  if (loss && !std::isfinite(*loss)) values.diverged = DivergedStep{.loss = *loss};
  for (SessionRunHook* const hook : hooks_) hook->AfterRun(run_, values);
  return run_.stop_reason().has_value();
}

void InferenceHooks::End(const std::map<std::string, Tensor>* metrics) {
  home_.metrics = metrics;
  for (SessionRunHook* const hook : hooks_) hook->End(global_step_);
}

}  // namespace tpuest
