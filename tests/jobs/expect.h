#pragma once
// Compares the results of a step with those that its case expects.

#include <string>
#include <vector>

#include "tests/jobs/job_case.h"
#include "tests/jobs/process.h"

namespace tpuest {

// One sentence per fault, "expected exit 2, found 0"; empty if the step did as expected. Globs
// match files in `folder`.
[[nodiscard]] std::vector<std::string> Compare(const Step& step, const ProcessResult& result,
                                               const std::string& folder);

// The files that a glob of a case matches, sorted.
[[nodiscard]] std::vector<std::string> FilesOf(const std::string& folder, const std::string& glob);

}  // namespace tpuest
