#pragma once
// Compares the traces of a step with those that its case expects.

#include <string>
#include <vector>

#include "tests/jobs/job_case.h"
#include "tests/jobs/process.h"

namespace tpuest {

// One sentence a fault, "expected exit 2, found 0"; empty: the step is as expected. Globs are of
// files in `folder`.
[[nodiscard]] std::vector<std::string> Compare(const Step& step, const ProcessResult& result,
                                               const std::string& folder);

// The files that a glob of a case names, sorted.
[[nodiscard]] std::vector<std::string> FilesOf(const std::string& folder, const std::string& glob);

}  // namespace tpuest
