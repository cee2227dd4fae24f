#pragma once
// Keeps a migrated job from training with a loss that is not the old run's.

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Throws Error kUsage at the first line "# ???" of the job that concerns the loss.
void CheckLossIsKnown(const Invocation& invocation, const config::Sources& sources);

}  // namespace tpuest::cli
