#pragma once
// Checks that what an early-stopping hook waits for is written.

#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns a fault for each early-stopping hook of the train_spec, which the job must have, whose
// events no evaluation of the job writes, so that it would wait for ever. A hook with `eval_dir` is
// no fault: another job may write there.
[[nodiscard]] std::vector<Fault> CheckEarlyStopping(const Job& job);

// Returns every eval_dir of the train_spec's early-stopping hooks that does not exist and to which
// no evaluation of the job writes in this model_dir.
[[nodiscard]] std::vector<std::string> UnwrittenEvalDirs(const Job& job,
                                                         const std::string& model_dir);

}  // namespace tpuest::cli
