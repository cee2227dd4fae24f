#pragma once
// Removes what a killed process left in a model_dir, and recovers what its state file said before
// it was damaged. Called by the process that trains, which holds the run's lock.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest {

// The entry that marks a preemption checkpoint (saved_state.h).
inline constexpr const char* kCutEntry = "tpuest/cut";
// Whether this is a preemption checkpoint; false if it is damaged.
[[nodiscard]] bool IsExtra(const std::string& prefix);

// Removes what a killed process left: files under temporary names, files of checkpoints that have
// no index and that the state file does not name, and data shards beside a whole checkpoint with
// another number of shards.
void RemoveLeftovers(const std::string& model_dir);
// Removes what killed processes left of one file under temporary names.
void RemoveLostParts(const std::string& path);
// Removes a checkpoint unless a later one of its folder is based on it (core/io/increment.h).
// Returns whether it was removed.
bool RemoveUnlessNeeded(const std::string& prefix);
// Returns the prefixes of checkpoints that `removing` names: those that are to be removed and may
// still exist.
[[nodiscard]] std::vector<std::string> NotedCheckpoints(const std::string& model_dir);
// Adds a checkpoint that could not be removed, or is the base of another, for the next save or the
// next start.
void NoteStuck(const std::string& model_dir, const std::string& prefix);
// Removes the checkpoints of `removing` that a run which resumes from `step` does not need. Those
// that the state file names stay noted, and so do those after the step, which are returned:
// preemption checkpoints that the run could not resume from. Does nothing without a readable state
// file.
std::vector<std::string> RemoveNotedCheckpoints(const std::string& model_dir, int64_t step);

// Returns the regular checkpoints up to `restored` that count as kept, oldest first: those of the
// state file or, if it cannot be read or names missing ones, the newest `most` of the folder.
// `restored` is the last of them, unless it is a preemption checkpoint.
[[nodiscard]] std::vector<std::string> KeptCheckpoints(const std::string& model_dir,
                                                       const std::string& restored,
                                                       bool restored_is_extra, size_t most);

// Cleans up a folder in which nothing is left to train: the state file names the run's last
// checkpoint and those that keep_checkpoint_max keeps before it, and all others are removed.
void TidyFinishedRun(const std::string& model_dir, const std::string& newest, size_t most,
                     bool fsync);

}  // namespace tpuest
