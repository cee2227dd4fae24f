#pragma once
// Checks that the job's model can be built, as far as possible without reading data.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Builds the model's graph for each mode that the job has an input for, and runs nothing. Skips a
// mode whose shapes are unknown without a file. Returns the faults of the first mode that cannot be
// built, with their keys or places; empty if all can.
[[nodiscard]] std::vector<Fault> CheckModel(const Job& job);

}  // namespace tpuest::cli
