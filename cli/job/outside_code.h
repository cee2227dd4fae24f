#pragma once
// The keys with which a job runs foreign code: programs that feed it or that hooks start, and
// shared libraries. --no-commands refuses a job with any of them.

#include <string_view>
#include <vector>

#include "cli/job/job_fwd.h"
#include "core/base/error.h"

namespace tpuest::cli {

// Returns true if a key of a section of this type names a program or a library, such as command of
// an ExecHook.
[[nodiscard]] bool RunsOutsideCode(std::string_view type, std::string_view key);

// Returns a fault, with the key's path, for each such key of the job that has a value.
[[nodiscard]] std::vector<Fault> OutsideCodeOf(const Job& job);

}  // namespace tpuest::cli
