#pragma once
// Runs one whole-program test in a fresh temporary folder.

#include <string>
#include <string_view>
#include <vector>

#include "tests/jobs/job_case.h"

namespace tpuest {

// The folders of programs that a case sees beside tpuest, as PATH has them.
inline constexpr std::string_view kCasePath = "/usr/local/bin:/usr/bin:/bin";

struct CaseOptions {
  std::string program;      // the program that `tpuest` means in a case
  std::string source_root;  // SOURCE_ROOT in a case, and TESTDATA below it
  std::string plugins;      // TPUEST_PLUGINS in a case
  bool keep_folder = false;
};

// A line a fault: "digits.yaml: step 2 (line 31): expected exit 2, found 0", with the ends of what
// the step printed after its last. A case stops at the first step with a fault. Empty: it passed.
[[nodiscard]] std::vector<std::string> RunCase(const JobCase& job_case, const CaseOptions& options);

}  // namespace tpuest
