#pragma once
// The job that `tpuest init` writes.

#include <optional>
#include <string>

#include "cli/prepare/starter_plan.h"

namespace tpuest::cli {

struct StarterPaths {
  std::string job;                  // as in commands; "-": standard output
  std::string train;                // from the job's folder
  std::optional<std::string> eval;  // the same; nullopt: the last rows of `train`
  std::string name;                 // of the job
  std::string model_dir;
};

// YAML, with a comment at each decision.
[[nodiscard]] std::string StarterJob(const CsvProfile& profile, const StarterPlan& plan,
                                     const StarterPaths& paths);

}  // namespace tpuest::cli
