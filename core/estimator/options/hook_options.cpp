#include "core/estimator/options/hook_options.h"

#include <algorithm>
#include <utility>

#include "core/base/faults.h"
#include "core/base/text.h"
#include "core/estimator/options/eval_name.h"
#include "core/nn/formula/formula.h"

namespace tpuest {
namespace {

// The moments of a run at which an ExecHook may run.
using Moments = std::vector<std::string_view>;
const Moments kTrainMoments = {"begin", "end", "checkpoint_saved"};
const Moments kEvalMoments = {"begin", "end", "evaluated"};
const Moments kPredictMoments = {"begin", "end"};

// Checks one hook's options.
class HookCheck {
 public:
  HookCheck(std::string section, const Moments& moments)
      : section_(std::move(section)), faults_(section_), moments_(moments) {}

  void operator()(const StopAtStepHookOptions& hook) {
    faults_.Expect(hook.num_steps || hook.last_step, "",
                   "One of num_steps or last_step must be specified.");
    faults_.Expect(!hook.num_steps || !hook.last_step, "last_step",
                   "Only one of num_steps or last_step can be specified.");
    faults_.Expect(!hook.num_steps || hook.last_step || &moments_ == &kTrainMoments, "num_steps",
                   "num_steps never ends here: the global step does not advance outside training",
                   "last_step ends after the first batch of a checkpoint at or after that step; "
                   "use eval_spec.steps or --limit for a number of batches or rows");
  }
  void operator()(const CheckpointSaverHookOptions& hook) { CheckSaves(hook); }
  void operator()(const LoggingTensorHookOptions& hook) {
    const bool both = hook.every_n_iter && hook.every_n_secs;
    const bool none = !hook.every_n_iter && !hook.every_n_secs;
    faults_.Expect(
        !both && (!none || hook.at_end), "",
        "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.");
    if (hook.every_n_iter) {
      faults_.Expect(*hook.every_n_iter > 0, "every_n_iter",
                     fmt::format("invalid every_n_iter={}.", *hook.every_n_iter));
    }
    ExpectPositive(hook.every_n_secs, "every_n_secs");
  }
  void operator()(const StepCounterHookOptions& hook) {
    faults_.Expect(hook.every_n_steps.has_value() != hook.every_n_secs.has_value(), "every_n_secs",
                   "exactly one of every_n_steps and every_n_secs should be provided.",
                   "every_n_steps: null with every_n_secs");
    ExpectPositive(hook.every_n_steps, "every_n_steps");
    ExpectPositive(hook.every_n_secs, "every_n_secs");
  }
  void operator()(const SaveTimes& hook) { CheckSaves(hook); }
  void operator()(const NanTensorHookOptions& /*hook*/) {}
  void operator()(const ExecHookOptions& hook) {
    faults_.Expect(!hook.on.empty(), "on", "ExecHook never runs: `on` is empty", MomentsText());
    for (const std::string& moment : hook.on) {
      faults_.Expect(std::find(moments_.begin(), moments_.end(), moment) != moments_.end(), "on",
                     fmt::format("'{}' is not an event of this run", moment), MomentsText());
    }
    faults_.Expect(!hook.command.empty() && !hook.command.front().empty(), "command",
                   "ExecHook has no command",
                   "command: [rsync, -a, \"{model_dir}/\", \"backup:/\"]");
  }
  void operator()(const ConditionHookOptions& hook) {
    faults_.Catch([&] { nn::CheckFormula(hook.when); });
    const bool runs = hook.action == "command";
    faults_.Expect(runs == !hook.command.empty(), "command",
                   runs ? "ConditionHook has no command" : "command needs do: command",
                   "do: command, command: [notify, \"{global_step}\"]");
    faults_.Expect(hook.action != "save" || &moments_ == &kTrainMoments, "do",
                   "do: save works only in training", "stop, command");
    faults_.Expect(hook.average_steps > 0, "average_steps",
                   fmt::format("average_steps must be positive, got {}", hook.average_steps));
  }
  void operator()(const PluginHookOptions& hook) {
    faults_.Expect(!hook.path.empty(), "path", "plugin has no path", "path: libmine.so");
  }
  void operator()(const StopAtCheckpointStepOptions& hook) {
    faults_.Expect(hook.last_step > 0, "last_step",
                   fmt::format("last_step must be positive, got {}", hook.last_step));
  }
  void operator()(const EarlyStoppingOptions& hook) {
    faults_.Expect(!hook.metric_name.empty(), "metric_name", "metric_name is empty");
    CheckShared(hook);
  }
  void operator()(const EarlyStoppingFormulaOptions& hook) {
    faults_.Catch([&] { nn::CheckFormula(hook.should_stop); });
    CheckShared(hook);
  }

  void operator()(const InMemoryEvaluatorHookOptions& hook);

  [[nodiscard]] std::vector<Fault> Take() { return faults_.Take(); }

 private:
  [[nodiscard]] std::string MomentsText() const {
    return "there are: " + Join({moments_.begin(), moments_.end()}, ", ");
  }
  template <class T>
  void ExpectPositive(const std::optional<T>& value, std::string_view key) {
    faults_.ExpectPositive(value, key, key);
  }
  template <class Hook>
  void CheckSaves(const Hook& hook) {
    faults_.Expect(!hook.save_secs || !hook.save_steps, "save_steps",
                   "Can not provide both every_secs and every_steps.");
    faults_.Expect(hook.save_secs || hook.save_steps, "",
                   "Either every_secs or every_steps should be provided.");
    ExpectPositive(hook.save_secs, "save_secs");
    ExpectPositive(hook.save_steps, "save_steps");
  }
  void CheckShared(const EarlyStoppingOptions& hook) {
    faults_.Expect(hook.run_every_secs.has_value() != hook.run_every_steps.has_value(),
                   "run_every_steps",
                   "Only one of `run_every_secs` and `run_every_steps` must be set.",
                   "run_every_secs: null with run_every_steps");
    ExpectPositive(hook.run_every_secs, "run_every_secs");
    ExpectPositive(hook.run_every_steps, "run_every_steps");
    faults_.Expect(!hook.eval || !hook.eval_dir, "eval", "eval and eval_dir each name a folder",
                   "leave one of them out");
    const std::string fault = FaultOfEvalName(hook.eval.value_or(""));
    faults_.Expect(fault.empty(), "eval", fault);
  }

  const std::string section_;
  Faults faults_;
  const Moments& moments_;
};

template <class Hook>
std::vector<Fault> CheckAll(const std::vector<Hook>& hooks, std::string_view section,
                            const Moments& moments) {
  Faults faults;
  for (size_t i = 0; i < hooks.size(); ++i) {
    HookCheck check(fmt::format("{}[{}]", section, i), moments);
    std::visit(check, hooks[i]);
    faults.AddAll(check.Take());
  }
  return faults.Take();
}

void HookCheck::operator()(const InMemoryEvaluatorHookOptions& hook) {
  faults_.Expect(hook.every_n_iter > 0, "every_n_iter",
                 fmt::format("invalid every_n_iter={}.", hook.every_n_iter));
  faults_.Expect(hook.steps.value_or(1) > 0, "steps",
                 fmt::format("Must specify steps > 0, given: {}", hook.steps.value_or(0)),
                 "null evaluates the whole input");
  const std::string fault = FaultOfEvalName(hook.name.value_or(""));
  faults_.Expect(fault.empty(), "name", fault);
  faults_.AddAll(CheckAll(hook.hooks, section_ + ".hooks", kEvalMoments));
}

}  // namespace

std::vector<Fault> ValidateHooks(const std::vector<AnyHook>& hooks, std::string_view section) {
  return CheckAll(hooks, section, kTrainMoments);
}

std::vector<Fault> ValidateHooks(const std::vector<AnyEvalHook>& hooks, std::string_view section) {
  return CheckAll(hooks, section, kEvalMoments);
}

std::vector<Fault> ValidateHooks(const std::vector<AnyPredictHook>& hooks,
                                 std::string_view section) {
  return CheckAll(hooks, section, kPredictMoments);
}

std::vector<Fault> ValidateListeners(const std::vector<AnySavingListener>& listeners,
                                     std::string_view section) {
  Faults faults;
  for (size_t i = 0; i < listeners.size(); ++i) {
    const auto& listener = std::get<CheckpointSaverListenerOptions>(listeners[i]);
    const bool runs = !listener.begin.empty() || !listener.before_save.empty() ||
                      !listener.after_save.empty() || !listener.end.empty();
    faults.Expect(runs, fmt::format("{}[{}]", section, i),
                  "CheckpointSaverListener never runs: it has no command",
                  "after_save: [rsync, -a, \"{model_dir}/\", \"backup:/\"]");
  }
  return faults.Take();
}

template class OneOf<AnyHookTypes>;

}  // namespace tpuest
