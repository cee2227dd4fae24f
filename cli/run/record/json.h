#pragma once
// Reads .tpuest/run.json of a run: what it was called with, and how it ended.

#include <optional>
#include <string>

#include "cli/shell/report.h"

namespace tpuest::cli {

// nullopt: there is no such file. A damaged one gives an object without keys, not an error.
[[nodiscard]] std::optional<Json> ReadRunJson(const std::string& model_dir);

// The text that tells apart the files that the run began with; nullopt where it is not known.
[[nodiscard]] std::optional<std::string> InputOfRun(const std::string& model_dir);

}  // namespace tpuest::cli
