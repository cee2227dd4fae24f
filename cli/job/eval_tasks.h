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

// One task an EvalSpec, in the order of the job. Error kUsage, naming the command, if the job has
// no eval_spec.
[[nodiscard]] std::vector<EvalTask> EvalTasksOf(const Job& job, std::string_view command);
// The evaluation that an InMemoryEvaluatorHook makes.
[[nodiscard]] EvalTask TaskOf(const Job& job, const InMemoryEvaluatorHookOptions& options);
// The inputs of these evaluations, by their labels.
[[nodiscard]] std::map<std::string, InputFn> EvaluationInputs(
    const Job& job, const std::vector<NamedEvalSpec>& specs);
// The inputs of all evaluations that a training of the job may make, by their labels.
[[nodiscard]] std::map<std::string, InputFn> EvaluationInputs(const Job& job);

// The early-stopping hooks of the train_spec, which the job must have, that no evaluation of the
// job feeds: they would wait for ever. What writes to a folder that eval_dir names may be another
// job.
[[nodiscard]] std::vector<Fault> CheckEarlyStopping(const Job& job);

}  // namespace tpuest::cli
