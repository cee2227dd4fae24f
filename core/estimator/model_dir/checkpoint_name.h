#pragma once
// The names of a checkpoint that --checkpoint and --from take, a job (checkpoint_path,
// warm_start_from) and a command's paths.
//
//   latest     the newest of model_dir
//   best       the best of those that keep_best keeps
//   2000       the one of that step in model_dir
//   a prefix   "runs/mnist/model.ckpt-2000", or one of its files
//   a folder   its newest checkpoint, or the variables of the SavedModel that it is
//
// Errors are of Code::kCheckpoint.

#include <optional>
#include <string>
#include <string_view>

namespace tpuest {

inline constexpr std::string_view kLatest = "latest";

// Whether a name needs a model_dir to mean something: latest, best or a step.
[[nodiscard]] bool IsNameInRun(std::string_view name);

// Finds the prefix of a checkpoint whose index is there; nullopt if there is none. Error where a
// folder's state file is damaged or the checkpoints it names are gone, and where no `best` was
// kept.
[[nodiscard]] std::optional<std::string> FindCheckpoint(const std::string& path);
[[nodiscard]] std::optional<std::string> FindCheckpoint(const std::string& name,
                                                        const std::string& model_dir);

// FindCheckpoint, with an Error where it finds none.
[[nodiscard]] std::string ResolveCheckpoint(const std::string& path);
[[nodiscard]] std::string ResolveCheckpoint(const std::string& name, const std::string& model_dir);

}  // namespace tpuest
