#pragma once
// Checks tpuest.embeddings, and the other options of a job that counts the uses of table rows or
// saves only changed rows.

#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns the faults of sizes, admit_after, evict_after_steps and incremental: numbers out of
// range, tables whose rows are not tracked, and a missing save_checkpoints_steps.
[[nodiscard]] std::vector<Fault> CheckRowCounts(const Job& job);

}  // namespace tpuest::cli
