#include "cli/job/eval_tasks.h"

#include <type_traits>
#include <variant>

#include "cli/job/export_args.h"
#include "cli/job/job.h"

namespace tpuest::cli {
namespace {

std::string LabelOf(const InMemoryEvaluatorHookOptions& options) {
  return options.name.value_or("eval");
}

}  // namespace

const EarlyStoppingOptions* EarlyStoppingOf(const AnyHook& hook) {
  return std::visit(
      [](const auto& options) -> const EarlyStoppingOptions* {
        if constexpr (std::is_base_of_v<EarlyStoppingOptions, std::decay_t<decltype(options)>>) {
          return &options;
        } else {
          return nullptr;
        }
      },
      hook);
}

std::vector<EventsOfJob> EventsOf(const Job& job) {
  std::vector<EventsOfJob> events;
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) events.push_back({named.label, named.name});
  for (const AnyHook& hook : job.train_spec->hooks) {
    const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
    if (evaluator == nullptr) continue;
    events.push_back({LabelOf(*evaluator), evaluator->name.value_or("")});
  }
  return events;
}

std::vector<EvalTask> EvalTasksOf(const Job& job, std::string_view command) {
  std::vector<EvalTask> tasks;
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    const EvalSpec& spec = *named.spec;
    EvalTask task;
    task.label = named.label;
    task.input_fn = MakeJobInputFn(job, spec.input_fn);
    task.args.steps = spec.steps;
    task.args.name = named.name;
    task.hooks = std::make_shared<const JobHooks>(MakeHooks(spec.hooks));
    task.start_delay_secs = static_cast<double>(spec.start_delay_secs);
    task.throttle_secs = static_cast<double>(spec.throttle_secs);
    task.every_steps = spec.every_steps;
    for (const AnyExporter& exporter : spec.exporters) {
      task.exporters.push_back({exporter, ExportArgsOf(job, CommonOf(exporter))});
    }
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) {
    throw Error(Code::kUsage, fmt::format("{} needs an eval_spec", command),
                "eval_spec: {input_fn: test, steps: null}");
  }
  return tasks;
}

EvalTask TaskOf(const Job& job, const InMemoryEvaluatorHookOptions& options) {
  EvalTask task;
  task.label = LabelOf(options);
  task.input_fn = MakeJobInputFn(job, options.input_fn);
  task.args.steps = options.steps;
  task.args.name = options.name.value_or("");
  task.hooks = std::make_shared<const JobHooks>(MakeHooks(options.hooks));
  return task;
}

std::map<std::string, InputFn> EvaluationInputs(const Job& job,
                                                const std::vector<NamedEvalSpec>& specs) {
  std::map<std::string, InputFn> inputs;
  for (const NamedEvalSpec& named : specs) {
    inputs[named.label] = MakeJobInputFn(job, named.spec->input_fn);
  }
  return inputs;
}

std::map<std::string, InputFn> EvaluationInputs(const Job& job) {
  std::map<std::string, InputFn> inputs = EvaluationInputs(job, EvalSpecsOf(job));
  for (const AnyHook& hook : job.train_spec->hooks) {
    const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
    if (evaluator == nullptr) continue;
    inputs[LabelOf(*evaluator)] = MakeJobInputFn(job, evaluator->input_fn);
  }
  return inputs;
}

static EarlyStoppingOptions* MutableEarlyStoppingOf(AnyHook& hook) {
  return const_cast<EarlyStoppingOptions*>(EarlyStoppingOf(hook));
}

std::vector<AnyHook> HooksOf(const Job& job) {
  std::vector<AnyHook> hooks = job.train_spec->hooks;
  for (AnyHook& hook : hooks) {
    EarlyStoppingOptions* const stopping = MutableEarlyStoppingOf(hook);
    if (stopping == nullptr || !stopping->eval) continue;
    for (const EventsOfJob& of : EventsOf(job)) {
      if (of.label != *stopping->eval) continue;
      stopping->eval = of.name;
      break;
    }
  }
  return hooks;
}

}  // namespace tpuest::cli
