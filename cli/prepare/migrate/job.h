#pragma once
// Writes the job that resumes an old Estimator's folder.

#include <string>
#include <vector>

#include "cli/prepare/migrate/columns/columns.h"
#include "cli/prepare/migrate/input/run.h"
#include "cli/prepare/migrate/model/model.h"

namespace tpuest::cli {

struct MigratedJob {
  std::string text;                  // YAML; a line "# ??? ..." precedes each unknown part
  std::vector<std::string> unknown;  // the texts of those lines, in order
};

// The job's text, which holds all that was found and marks what was not.
[[nodiscard]] MigratedJob WriteMigratedJob(const MigratedRun& run, const MigratedModel& model,
                                           const MigratedColumns& columns);

// The job's text with what a comparison of predictions found, below its first line.
[[nodiscard]] std::string WithCheck(const std::string& text, const std::string& what);

}  // namespace tpuest::cli
