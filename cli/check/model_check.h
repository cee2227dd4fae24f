#pragma once
// Checks that the job's model can be built, as far as that can be told without a file.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Builds the model's graph for each mode that the job has an input for, and runs nothing; a mode
// whose input does not tell its shapes without a file is passed over. Returns the faults of the
// first mode that cannot be built, with their keys or places; empty: all can.
[[nodiscard]] std::vector<Fault> CheckModel(const Job& job);

}  // namespace tpuest::cli
