#pragma once
// The index of this process in an array of tasks, from the scheduler's environment variables.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tpuest::cli {

// Looks up an environment variable.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// The index, counted from 0. Slurm, Kubernetes (an indexed Job), PBS and AWS Batch count from 0, or
// as the user chooses; Grid Engine and LSF count from 1, which is subtracted. Error kUsage if none
// of them has set its variable, and if the variable is not such a number.
[[nodiscard]] int64_t ArrayTaskIndex(const Lookup& environment);

}  // namespace tpuest::cli
