#pragma once
// Keeps a migrated job from training with a loss that is not the old run's.

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Error kUsage, with its place, for the first line "# ???" of the job that speaks of the loss.
void CheckLossIsKnown(const Invocation& invocation, const config::Sources& sources);

}  // namespace tpuest::cli
