#pragma once
// The files of configs/deploy, which the program carries with it.

#include <string_view>

namespace tpuest::cli {

// One of them, byte for byte: "slurm.sh".
[[nodiscard]] std::string_view DeployFile(std::string_view name);

}  // namespace tpuest::cli
