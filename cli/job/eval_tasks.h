#pragma once
// The evaluations of a job: each EvalSpec joined with its input, its hooks and its exporters.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/faults.h"
#include "core/estimator/train_and_evaluate.h"

namespace tpuest::cli {

// Returns one task per EvalSpec, in the order of the job. Error kUsage, naming the command, if the
// job has no eval_spec.
[[nodiscard]] std::vector<EvalTask> EvalTasksOf(const Job& job, std::string_view command);
// Returns the evaluation that an InMemoryEvaluatorHook runs.
[[nodiscard]] EvalTask TaskOf(const Job& job, const InMemoryEvaluatorHookOptions& options);
// Returns the inputs of these evaluations by label.
[[nodiscard]] std::map<std::string, InputFn> EvaluationInputs(
    const Job& job, const std::vector<NamedEvalSpec>& specs);
// Returns the inputs, by label, of all evaluations that training the job may run.
[[nodiscard]] std::map<std::string, InputFn> EvaluationInputs(const Job& job);

// An evaluation that writes events while the job trains.
struct EventsOfJob {
  std::string label;  // the name that an early-stopping hook may give as `eval`
  std::string name;   // of the folder, EvalFolderName(name)
};
// Those of a job with a train_spec: its EvalSpecs, then its InMemoryEvaluatorHooks.
[[nodiscard]] std::vector<EventsOfJob> EventsOf(const Job& job);

// The options that all early-stopping hooks share; nullptr for another hook.
[[nodiscard]] const EarlyStoppingOptions* EarlyStoppingOf(const AnyHook& hook);

}  // namespace tpuest::cli
