#pragma once
// Checks the section `tpuest` of a job.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns a fault for each value of `tpuest` that is out of its range or names nothing.
[[nodiscard]] std::vector<Fault> CheckOptions(const Job& job);

}  // namespace tpuest::cli
