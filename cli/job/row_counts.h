#pragma once
// What a job that counts the rows of its tables (tpuest.embeddings) has to have beside it.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// The faults of admit_after and evict_after_steps: numbers that are none, tables whose rows are not
// counted, and decisions that have no steps to fall on.
[[nodiscard]] std::vector<Fault> CheckRowCounts(const Job& job);

}  // namespace tpuest::cli
