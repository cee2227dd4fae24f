#pragma once
// The evaluations of a job: each EvalSpec joined with its input, its hooks and its exporters.

#include <string_view>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/estimator/train_and_evaluate.h"

namespace tpuest::cli {

// One task an EvalSpec, in the order of the job. Error kUsage, naming the command, if the job has
// no eval_spec.
[[nodiscard]] std::vector<EvalTask> EvalTasksOf(const Job& job, std::string_view command);

}  // namespace tpuest::cli
