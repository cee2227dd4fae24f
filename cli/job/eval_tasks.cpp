#include "cli/job/eval_tasks.h"

#include "cli/job/export_args.h"
#include "cli/job/job.h"

namespace tpuest::cli {

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

}  // namespace tpuest::cli
