#pragma once
// The text file "checkpoint" of a model_dir, which names its checkpoints (TensorFlow's
// checkpoint_state.proto as text), and files of that format under other names ("best"). Errors are
// of Code::kCheckpoint.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Prefixes here are paths that can be opened; in the file those inside the folder stand relative to
// it, so that the folder can be moved.
struct CheckpointState {
  std::string model_checkpoint_path;                    // the newest
  std::vector<std::string> all_model_checkpoint_paths;  // oldest first
  std::vector<double>
      all_model_checkpoint_timestamps;             // seconds since the epoch; empty or one a path
  std::optional<double> last_preserved_timestamp;  // seconds since the epoch
  bool operator==(const CheckpointState&) const = default;
};

// The state file's own name, which TensorFlow looks for.
inline constexpr std::string_view kCheckpointState = "checkpoint";
[[nodiscard]] std::string CheckpointStatePath(const std::string& folder);

// nullopt if there is no such file.
[[nodiscard]] std::optional<CheckpointState> ReadCheckpointState(
    const std::string& folder, std::string_view name = kCheckpointState);
// The same, but nullopt where the file is damaged too, or names nothing.
[[nodiscard]] std::optional<CheckpointState> ReadableState(
    const std::string& folder, std::string_view name = kCheckpointState);
// Replaces the file atomically.
void WriteCheckpointState(const std::string& folder, const CheckpointState& state,
                          std::string_view name = kCheckpointState, bool fsync = true);

// The bytes of the file "checkpoint", "" where there is none. A reader that does not find what it
// names looks whether a trainer has written it meanwhile.
[[nodiscard]] std::string CheckpointStateText(const std::string& folder);

// The contents of the file "checkpoint", read once, and the newest checkpoint in it whose
// index exists.
struct LatestNamed {
  CheckpointState state;
  std::string prefix;
};
// nullopt if the file is missing or names none. An Error if it names some and all are gone.
[[nodiscard]] std::optional<LatestNamed> ReadLatest(const std::string& folder);
// Its prefix.
[[nodiscard]] std::optional<std::string> LatestCheckpoint(const std::string& folder);

// The prefix that one of a checkpoint's files belongs to: "m-1" of "m-1.index", "m-1.meta" and
// "m-1.data-00000-of-00001". Other paths are prefixes already.
[[nodiscard]] std::string CheckpointPrefix(const std::string& path);
// The file with the MetaGraph of a checkpoint, and its ending.
inline constexpr std::string_view kMetaGraphEnding = ".meta";
[[nodiscard]] std::string MetaGraphPath(const std::string& prefix);

// Says whether the checkpoint's index exists; the index is written last, so then all of it does.
[[nodiscard]] bool CheckpointExists(const std::string& prefix);
// Removes the files of a checkpoint, its index first, with its ".meta". Whether all are gone.
bool RemoveCheckpoint(const std::string& prefix);
// 5 for "runs/mnist/model.ckpt-5"; nullopt without such a number.
[[nodiscard]] std::optional<int64_t> StepOfCheckpoint(std::string_view prefix);

}  // namespace tpuest
