#pragma once
// The keys of a job and their values, for completion. A job file may be unfinished: the readable
// part is used.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

// Returns the run_config.model_dir in the job file, "" if it has none; nullopt for a file that is
// not a job.
[[nodiscard]] std::optional<std::string> WrittenModelDir(const std::string& job);

// Returns the job's keys in the forms that an override takes, each with its help: whole paths, and
// last steps that only one path has.
[[nodiscard]] std::map<std::string, std::string> JobKeys(const std::string& job);

// Returns the sorted values of a key, found by its whole path, otherwise by all keys that end like
// it.
[[nodiscard]] std::vector<std::string> KeyValues(const std::string& key);

}  // namespace tpuest::cli
