#pragma once
// Checks what a job says of training, evaluation and prediction.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns the faults of train_spec, eval_spec, predict and keep_best: inputs and evaluations that
// the job does not have, hooks, lengths, and batches that do not divide over the replicas.
[[nodiscard]] std::vector<Fault> CheckSpecs(const Job& job);

}  // namespace tpuest::cli
