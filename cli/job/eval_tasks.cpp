#include "cli/job/eval_tasks.h"

#include "cli/job/export_args.h"
#include "cli/job/job.h"

namespace tpuest::cli {
namespace {

std::string LabelOf(const InMemoryEvaluatorHookOptions& options) {
  return options.name.value_or("eval");
}

}  // namespace

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

}  // namespace tpuest::cli
