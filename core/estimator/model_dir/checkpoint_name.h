#pragma once
// The names of checkpoints that --checkpoint and --from, a job (checkpoint_path, warm_start_from)
// and a command's paths accept.
//
//   latest     the newest of model_dir
//   best       the best of those that keep_best keeps
//   2000       the checkpoint of that step in model_dir
//   a prefix   "runs/mnist/model.ckpt-2000", or one of its files
//   a folder   its newest checkpoint, or the variables of a SavedModel
//
// Errors have Code::kCheckpoint.

#include <optional>
#include <string>
#include <string_view>

namespace tpuest {

inline constexpr std::string_view kLatest = "latest";

// Whether a name has a meaning only in a model_dir: latest, best or a step.
[[nodiscard]] bool IsNameInRun(std::string_view name);

// Returns the prefix of a checkpoint whose index exists; nullopt if there is none. Throws if a
// folder's state file is damaged or names missing checkpoints, and if no `best` was kept.
[[nodiscard]] std::optional<std::string> FindCheckpoint(const std::string& path);
[[nodiscard]] std::optional<std::string> FindCheckpoint(const std::string& name,
                                                        const std::string& model_dir);

// Calls FindCheckpoint and throws if it finds none.
[[nodiscard]] std::string ResolveCheckpoint(const std::string& path);
[[nodiscard]] std::string ResolveCheckpoint(const std::string& name, const std::string& model_dir);

}  // namespace tpuest
