#pragma once
// Reads .tpuest/run.json of a run: its command line, and how it ended.

#include <optional>
#include <string>

#include "cli/shell/report.h"

namespace tpuest::cli {

// Returns nullopt if the file does not exist. A damaged file gives an object without keys, not an
// error.
[[nodiscard]] std::optional<Json> ReadRunJson(const std::string& model_dir);

// Returns the text that identifies the input files that the run began with; nullopt if unknown.
[[nodiscard]] std::optional<std::string> InputOfRun(const std::string& model_dir);

}  // namespace tpuest::cli
