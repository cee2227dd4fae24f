#pragma once
// What a killed process left in a model_dir, and what its state file said before it was damaged.
// The process that trains calls these, with the run's lock held.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest {

// The entry of a checkpoint that only a stop request saved (saved_state.h).
inline constexpr const char* kCutEntry = "tpuest/cut";
// Whether only a stop request made this checkpoint; of a damaged one: no.
[[nodiscard]] bool IsExtra(const std::string& prefix);

// Removes what a killed process left: files under temporary names, the files of checkpoints that
// have no index and that the state file does not name, and data shards beside a whole checkpoint
// that has another number of them.
void RemoveLeftovers(const std::string& model_dir);
// Removes what killed processes left of one file under temporary names.
void RemoveLostParts(const std::string& path);
// Removes a checkpoint, unless a later one of its folder stands on it (core/io/increment.h).
// Whether it is gone.
bool RemoveUnlessNeeded(const std::string& prefix);
// The prefixes of the checkpoints that `removing` names: those that are to go and may be there
// still.
[[nodiscard]] std::vector<std::string> NotedCheckpoints(const std::string& model_dir);
// Adds one that the disk did not let go or another one needs, for the next save or the next start.
void NoteStuck(const std::string& model_dir, const std::string& prefix);
// Removes the checkpoints of `removing` that a run which goes on from `step` has no use for. Those
// that the state file names stay noted, and so do those past the step, which are returned: extras
// that the run could not go on from. Without a state file that can be read nothing is done.
std::vector<std::string> RemoveNotedCheckpoints(const std::string& model_dir, int64_t step);

// The regular checkpoints up to `restored` that count as kept, the oldest first: those of the state
// file, or, where it cannot be read or names what is not there, the newest `most` of the folder.
// `restored` is their last, unless it is an extra.
[[nodiscard]] std::vector<std::string> KeptCheckpoints(const std::string& model_dir,
                                                       const std::string& restored,
                                                       bool restored_is_extra, size_t most);

// Puts a folder in order in which nothing is left to train: the state file names the checkpoint of
// the run's end, those that keep_checkpoint_max keeps before it, and nothing else is left.
void TidyFinishedRun(const std::string& model_dir, const std::string& newest, size_t most,
                     bool fsync);

}  // namespace tpuest
