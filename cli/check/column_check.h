#pragma once
// Checks the feature columns and embedding tables of a job beside what else the job says.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns the faults of `feature_columns` and `embedding_config_spec`: columns that name nothing,
// tables that cannot be trained as the job says, and inputs that do not fit a categorical column.
[[nodiscard]] std::vector<Fault> CheckColumns(const Job& job);

}  // namespace tpuest::cli
