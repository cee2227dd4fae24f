#pragma once
// Writes the job of `tpuest init`.

#include <optional>
#include <string>

#include "cli/prepare/starter_plan.h"

namespace tpuest::cli {

struct StarterPaths {
  std::string job;                  // path as commands name it; "-": standard output
  std::string train;                // path from the job's folder
  std::optional<std::string> eval;  // path from there; nullopt: the last rows of `train`
  std::string name;                 // name of the job
  std::string model_dir;
};

// The job as YAML, with a comment at each decision.
[[nodiscard]] std::string StarterJob(const data::CsvProfile& profile, const StarterPlan& plan,
                                     const StarterPaths& paths);

}  // namespace tpuest::cli
