#pragma once
// How a checkpoint is named: by --checkpoint and --from, by a job (checkpoint_path,
// warm_start_from) and by a path that a command takes.
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

// Whether a name is of a run whose model_dir is told otherwise: latest, best or a step.
[[nodiscard]] bool IsNameInRun(std::string_view name);

// The prefix, whose index is there; nullopt: there is no such checkpoint. Error where a folder's
// state file is damaged or what it names is gone, and where `best` was not kept.
[[nodiscard]] std::optional<std::string> FindCheckpoint(const std::string& path);
[[nodiscard]] std::optional<std::string> FindCheckpoint(const std::string& name,
                                                        const std::string& model_dir);

// The same; Error where there is none.
[[nodiscard]] std::string ResolveCheckpoint(const std::string& path);
[[nodiscard]] std::string ResolveCheckpoint(const std::string& name, const std::string& model_dir);

}  // namespace tpuest
