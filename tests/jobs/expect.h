#pragma once
// Compares what a step left with what its case expects.

#include <string>
#include <vector>

#include "tests/jobs/job_case.h"
#include "tests/jobs/process.h"

namespace tpuest {

// A sentence a fault, "expected exit 2, found 0". Globs are of files in `folder`.
[[nodiscard]] std::vector<std::string> Compare(const Step& step, const ProcessResult& result,
                                               const std::string& folder);

// The files that a glob of a case names, sorted.
[[nodiscard]] std::vector<std::string> FilesOf(const std::string& folder, const std::string& glob);

}  // namespace tpuest
