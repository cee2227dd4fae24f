#pragma once
// .tpuest/run.json of a run: what it was called with, and how it ended.

#include <optional>
#include <string>

#include "cli/shell/report.h"

namespace tpuest::cli {

// nullopt: there is no such file; without a key where it is damaged.
[[nodiscard]] std::optional<Json> ReadRunJson(const std::string& model_dir);

}  // namespace tpuest::cli
