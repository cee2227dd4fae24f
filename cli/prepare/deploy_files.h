#pragma once
// The files of configs/deploy, embedded in the program.

#include <string_view>

namespace tpuest::cli {

// Returns a file byte for byte by name: "slurm.sh".
[[nodiscard]] std::string_view DeployFile(std::string_view name);

}  // namespace tpuest::cli
