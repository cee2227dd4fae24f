#pragma once
// A job's EvalSpecs joined with their inputs and what their exporters export.

#include <string_view>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/estimator/train_and_evaluate.h"

namespace tpuest::cli {

// Error kUsage, naming the command, if the job has no eval_spec.
[[nodiscard]] std::vector<EvalTask> EvalTasksOf(const Job& job, std::string_view command);

}  // namespace tpuest::cli
