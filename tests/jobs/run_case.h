#pragma once
// Runs one whole-program test in a fresh temporary folder.

#include <string>
#include <string_view>
#include <vector>

#include "tests/jobs/job_case.h"

namespace tpuest {

// The folders of programs that a case finds besides tpuest, in the form of PATH.
inline constexpr std::string_view kCasePath = "/usr/local/bin:/usr/bin:/bin";

struct CaseOptions {
  std::string program;      // the program that `tpuest` means in a case
  std::string source_root;  // SOURCE_ROOT in a case, and TESTDATA below it
  std::string plugins;      // TPUEST_PLUGINS in a case
  bool keep_folder = false;
};

// One line per fault: "digits.yaml: step 2 (line 31): expected exit 2, found 0"; the last is
// followed by the ends of the step's output. A case stops at the first step with a fault. Empty if
// it passed.
[[nodiscard]] std::vector<std::string> RunCase(const JobCase& job_case, const CaseOptions& options);

}  // namespace tpuest
