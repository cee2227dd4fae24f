#pragma once
// Finds what is wrong with a job that has been read.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns every fault that can be found without building the model or reading data, each with its
// key; reading the file has found those of its form. Empty if there is none. Never throws for a
// wrong job.
[[nodiscard]] std::vector<Fault> ValidateJob(const Job& job);

}  // namespace tpuest::cli
