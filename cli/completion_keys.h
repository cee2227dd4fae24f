#pragma once
// The keys of a job and their values, for who completes a command line. A job file may be
// unfinished: what of it can be read counts.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

// The run_config.model_dir that the job file writes, "" where it writes none; nullopt for a file
// that is no job at all.
[[nodiscard]] std::optional<std::string> WrittenModelDir(const std::string& job);

// The job's keys in the forms that an override takes, each with its help: whole paths, and last
// steps that only one path has.
[[nodiscard]] std::map<std::string, std::string> JobKeys(const std::string& job);

// The values that a key may have: by its whole path, or else by all keys that end like it. Sorted.
[[nodiscard]] std::vector<std::string> KeyValues(const std::string& key);

}  // namespace tpuest::cli
