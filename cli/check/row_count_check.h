#pragma once
// What tpuest.embeddings may say, and what a job that counts the rows of its tables, or saves those
// that change, has to have beside it.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// The faults of sizes, admit_after, evict_after_steps and incremental: numbers that are none,
// tables of whose rows nothing is known, and decisions that have no steps to fall on.
[[nodiscard]] std::vector<Fault> CheckRowCounts(const Job& job);

}  // namespace tpuest::cli
