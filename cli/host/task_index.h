#pragma once
// Which task of an array this process is, as its scheduler says in the environment.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tpuest::cli {

// Looks up an environment variable.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// From 0 on. Slurm, Kubernetes (an indexed Job), PBS and AWS Batch count as the user or they do,
// from 0; Grid Engine and LSF count from 1. Error kUsage where none of them has set its variable.
[[nodiscard]] int64_t ArrayTaskIndex(const Lookup& environment);

}  // namespace tpuest::cli
