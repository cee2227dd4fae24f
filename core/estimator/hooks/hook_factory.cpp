#include "core/estimator/hooks/hook_factory.h"

#include <type_traits>
#include <variant>

#include "core/estimator/hooks/condition_hook.h"
#include "core/estimator/hooks/early_stopping.h"
#include "core/estimator/hooks/exec_hook.h"
#include "core/estimator/hooks/logging_tensor_hook.h"
#include "core/estimator/hooks/plugin_hook.h"
#include "core/estimator/hooks/profiler_hook.h"
#include "core/estimator/hooks/train_hooks.h"

namespace tpuest {
namespace {

using Made = std::unique_ptr<SessionRunHook>;

Made Make(const StopAtStepHookOptions& o) {
  return std::make_unique<StopAtStepHook>(o.num_steps, o.last_step);
}
Made Make(const CheckpointSaverHookOptions& o) {
  return std::make_unique<CheckpointSaverHook>(o.save_secs, o.save_steps);
}
Made Make(const LoggingTensorHookOptions& o) { return std::make_unique<LoggingTensorHook>(o); }
Made Make(const StepCounterHookOptions& o) {
  return std::make_unique<StepCounterHook>(o.every_n_steps, o.every_n_secs, o.output_dir);
}
Made Make(const SummarySaverHookOptions& o) {
  return std::make_unique<SummarySaverHook>(o.save_steps, o.save_secs, o.output_dir);
}
Made Make(const NanTensorHookOptions& o) {
  return std::make_unique<NanTensorHook>(o.fail_on_nan_loss);
}
Made Make(const ProfilerHookOptions& o) {
  return std::make_unique<ProfilerHook>(o.save_steps, o.save_secs, o.output_dir);
}
Made Make(const ExecHookOptions& o) { return std::make_unique<ExecHook>(o); }
Made Make(const ConditionHookOptions& o) { return std::make_unique<ConditionHook>(o); }
Made Make(const PluginHookOptions& o) { return std::make_unique<PluginHook>(o); }
Made Make(const StopAtCheckpointStepOptions& o) {
  return std::make_unique<StopAtStepHook>(std::nullopt, o.last_step);
}
Made Make(const EarlyStoppingFormulaOptions& o) {
  return std::make_unique<EarlyStoppingHook>(o, [o](const EvalMetricsBySteps& metrics, Log& log) {
    return FormulaStops(metrics, o.should_stop, o.min_steps, log);
  });
}

template <Direction stops>
Made Make(const StopIfCrossedOptions<stops>& o) {
  const ThresholdRule rule{.metric_name = o.metric_name,
                           .threshold = o.threshold,
                           .higher_is_better = o.kHigher,
                           .min_steps = o.min_steps};
  return std::make_unique<EarlyStoppingHook>(o,
                                             [rule](const EvalMetricsBySteps& metrics, Log& log) {
                                               return ThresholdCrossed(metrics, rule, log);
                                             });
}

template <Direction better>
Made Make(const StopIfNoBetterOptions<better>& o) {
  const ImprovementRule rule{.metric_name = o.metric_name,
                             .max_steps_without_improvement = o.max_steps_without,
                             .higher_is_better = o.kHigher,
                             .min_steps = o.min_steps,
                             .min_delta = o.min_delta};
  return std::make_unique<EarlyStoppingHook>(o,
                                             [rule](const EvalMetricsBySteps& metrics, Log& log) {
                                               return ImprovementEnded(metrics, rule, log);
                                             });
}

template <class Hook, class Maker>
JobHooks MakeAll(const std::vector<Hook>& hooks, const Maker& make) {
  JobHooks made;
  for (const Hook& options : hooks) {
    Made hook = std::visit(make, options);
    auto* const exec = dynamic_cast<ExecHook*>(hook.get());
    made.Add(std::move(hook), exec == nullptr ? nullptr : exec->listener());
  }
  return made;
}

}  // namespace

TrainHooks JobHooks::With(SessionRunHook& first) const {
  TrainHooks all{&first};
  for (const auto& hook : hooks_) all.hooks.push_back(hook.get());
  all.saving_listeners = listeners_;
  return all;
}

std::vector<SessionRunHook*> JobHooks::hooks() const {
  std::vector<SessionRunHook*> all;
  for (const auto& hook : hooks_) all.push_back(hook.get());
  return all;
}

void JobHooks::Add(std::unique_ptr<SessionRunHook> hook, CheckpointSaverListener* listener) {
  hooks_.push_back(std::move(hook));
  if (listener != nullptr) listeners_.push_back(listener);
}

JobHooks MakeHooks(const std::vector<AnyHook>& hooks,
                   const std::vector<AnySavingListener>& listeners,
                   const MakeEvaluator& make_evaluator) {
  JobHooks made = MakeAll(hooks, [&](const auto& options) -> Made {
    if constexpr (std::is_same_v<std::decay_t<decltype(options)>, InMemoryEvaluatorHookOptions>) {
      return make_evaluator(options);
    } else {
      return Make(options);
    }
  });
  for (const AnySavingListener& options : listeners) {
    auto hook = std::make_unique<ExecListener>(std::get<CheckpointSaverListenerOptions>(options));
    CheckpointSaverListener* const listener = hook->listener();
    made.Add(std::move(hook), listener);
  }
  return made;
}

JobHooks MakeHooks(const std::vector<AnyEvalHook>& hooks) {
  return MakeAll(hooks, [](const auto& options) { return Make(options); });
}
JobHooks MakeHooks(const std::vector<AnyPredictHook>& hooks) {
  return MakeAll(hooks, [](const auto& options) { return Make(options); });
}

}  // namespace tpuest
