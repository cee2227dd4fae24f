#pragma once
// The index of this process in an array of tasks, which its scheduler tells by the environment.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tpuest::cli {

// Looks up an environment variable.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// The index, counted from 0. Slurm, Kubernetes (an indexed Job), PBS and AWS Batch count as the
// user or they do, from 0; Grid Engine and LSF count from 1, which is taken off. Error kUsage where
// none of them has set its variable, and where the variable holds no such number.
[[nodiscard]] int64_t ArrayTaskIndex(const Lookup& environment);

}  // namespace tpuest::cli
