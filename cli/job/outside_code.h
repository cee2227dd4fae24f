#pragma once
// The keys by which a job runs code that is not tpuest's: programs that feed it or that hooks
// start, and shared libraries. --no-commands refuses a job with any of them.

#include <string_view>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Whether a key of a section of this type names a program or a library: command of an ExecHook.
[[nodiscard]] bool RunsOutsideCode(std::string_view type, std::string_view key);

// A fault for each such key of the job that has a value, with the key's path.
[[nodiscard]] std::vector<Fault> OutsideCodeOf(const Job& job);

}  // namespace tpuest::cli
