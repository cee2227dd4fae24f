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

// Prefixes in this struct are paths that can be opened. In the file, prefixes inside the folder are
// relative to it, so the folder can be moved.
struct CheckpointState {
  std::string model_checkpoint_path;                    // the newest
  std::vector<std::string> all_model_checkpoint_paths;  // oldest first
  std::vector<double>
      all_model_checkpoint_timestamps;  // seconds since the epoch; empty, or one per path
  std::optional<double> last_preserved_timestamp;  // seconds since the epoch
  bool operator==(const CheckpointState&) const = default;
};

// The name of the state file, as in TensorFlow.
inline constexpr std::string_view kCheckpointState = "checkpoint";
[[nodiscard]] std::string CheckpointStatePath(const std::string& folder);

// Returns nullopt if the file does not exist.
[[nodiscard]] std::optional<CheckpointState> ReadCheckpointState(
    const std::string& folder, std::string_view name = kCheckpointState);
// As above, but also returns nullopt if the file is damaged or names no checkpoint.
[[nodiscard]] std::optional<CheckpointState> ReadableState(
    const std::string& folder, std::string_view name = kCheckpointState);
// Replaces the file atomically.
void WriteCheckpointState(const std::string& folder, const CheckpointState& state,
                          std::string_view name = kCheckpointState, bool fsync = true);

// The bytes of the file "checkpoint"; "" if it is missing. A reader that does not find a named
// checkpoint compares these bytes with those it read before, to detect whether a trainer has
// rewritten the file meanwhile.
[[nodiscard]] std::string CheckpointStateText(const std::string& folder);

// The contents of the file "checkpoint", read once, and the newest checkpoint in it whose
// index exists.
struct LatestNamed {
  CheckpointState state;
  std::string prefix;
};
// Returns nullopt if the file is missing or names no checkpoint. Throws if none of the named
// checkpoints exists any more.
[[nodiscard]] std::optional<LatestNamed> ReadLatest(const std::string& folder);
// The prefix of that checkpoint.
[[nodiscard]] std::optional<std::string> LatestCheckpoint(const std::string& folder);

// The prefix of the checkpoint that a file belongs to: "m-1" for "m-1.index", "m-1.meta" and
// "m-1.data-00000-of-00001". Returns any other path unchanged, because it is already a prefix.
[[nodiscard]] std::string CheckpointPrefix(const std::string& path);
// The path of the file that holds a checkpoint's MetaGraph, and its ending.
inline constexpr std::string_view kMetaGraphEnding = ".meta";
[[nodiscard]] std::string MetaGraphPath(const std::string& prefix);

// Whether the checkpoint's index exists. The index is written last, so a checkpoint with an index
// is complete.
[[nodiscard]] bool CheckpointExists(const std::string& prefix);
// Removes the files of a checkpoint, including ".meta"; the index goes first. Returns whether all
// are gone.
bool RemoveCheckpoint(const std::string& prefix);
// Returns 5 for "runs/mnist/model.ckpt-5", and nullopt for a prefix without such a number.
[[nodiscard]] std::optional<int64_t> StepOfCheckpoint(std::string_view prefix);

}  // namespace tpuest
