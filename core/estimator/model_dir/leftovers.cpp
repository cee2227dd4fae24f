#include "core/estimator/model_dir/leftovers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/increment.h"

namespace tpuest {
namespace {

bool IsNamedBy(const CheckpointState& state, const std::string& prefix) {
  const auto& named = state.all_model_checkpoint_paths;
  return state.model_checkpoint_path == prefix ||
         std::find(named.begin(), named.end(), prefix) != named.end();
}

// Whether both entries of the state file for the newest checkpoint name this one.
bool NamesAsNewest(const CheckpointState& state, const std::string& prefix) {
  const auto& all = state.all_model_checkpoint_paths;
  return state.model_checkpoint_path == prefix && !all.empty() && all.back() == prefix;
}

// Whether a file belongs to a checkpoint without an index that no state file names, because its
// writer was killed.
bool IsPart(const std::string& path, const std::optional<CheckpointState>& state) {
  const std::string prefix = CheckpointPrefix(path);
  return !CheckpointExists(prefix) && (!state || !IsNamedBy(*state, prefix));
}

// The prefix and ending of "model.ckpt-5.data-00000-of-00002" without the shard's number:
// "model.ckpt-5.data-", "-of-00002".
using ShardSet = std::pair<std::string, std::string>;
std::optional<ShardSet> ShardSetOf(const std::string& name) {
  const size_t at = name.find(kDataEnding);
  if (at == std::string::npos) return std::nullopt;
  const size_t number = at + kDataEnding.size();
  const size_t of = name.find("-of-", number);
  if (of == std::string::npos) return std::nullopt;
  return ShardSet(name.substr(0, number), name.substr(of));
}

// The data shards of a folder that belong to no complete checkpoint: their number of shards differs
// from that of the complete checkpoint with that name.
std::vector<std::string> StrayShards(const std::vector<std::string>& names) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> sets;
  for (const std::string& name : names) {
    if (const auto set = ShardSetOf(name)) sets[set->first][set->second].push_back(name);
  }
  std::vector<std::string> stray;
  for (const auto& [prefix, by_count] : sets) {
    const auto is_whole = [](const auto& set) {
      const auto count = WholeNumber<size_t>(std::string_view(set.first).substr(4));
      return count && set.second.size() == *count;
    };
    if (std::count_if(by_count.begin(), by_count.end(), is_whole) != 1) continue;
    for (const auto& set : by_count) {
      if (!is_whole(set)) stray.insert(stray.end(), set.second.begin(), set.second.end());
    }
  }
  return stray;
}

// The names of the checkpoints that were about to be removed, the newest first, so that an
// increment is removed before its base.
std::vector<std::string> NotedNames(const std::string& model_dir) {
  const std::string path = RemovingPath(model_dir);
  if (!FileExists(path)) return {};
  std::vector<std::string> names = Split(ReadFile(path), '\n');
  // The listed checkpoints are removed, so names outside the folder are dropped.
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name.find('/') != std::string::npos || name == "..";
  });
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return StepOfCheckpoint(a).value_or(0) > StepOfCheckpoint(b).value_or(0);
  });
  return names;
}

// Whether a checkpoint is in the folder, in whatever form the state file writes its path.
bool IsOf(const std::string& model_dir, const std::string& prefix) {
  if (prefix == JoinPath(model_dir, BaseName(prefix))) return true;
  const std::string folder = DirName(prefix);
  std::error_code error;
  return std::filesystem::equivalent(folder.empty() ? "." : folder, model_dir, error);
}

// Whether a checkpoint depends on a base checkpoint. A damaged one depends on none; one that cannot
// be read now may.
bool StandsOn(const std::string& prefix, const std::string& other) {
  try {
    const std::optional<IncrementBase> base = BaseOf(prefix);
    return base && base->prefix == other;
  } catch (const Error& error) {
    return error.code() != Code::kCheckpoint;
  }
}

// The newest `most` checkpoints of the folder before a step, the oldest first.
std::vector<std::string> NewestBefore(const std::string& model_dir, int64_t step, size_t most) {
  const std::vector<std::string> removing = NotedNames(model_dir);
  std::vector<std::string> kept;
  for (const auto& [at, prefix] : CheckpointsIn(model_dir)) {
    const bool is_going =
        std::find(removing.begin(), removing.end(), BaseName(prefix)) != removing.end();
    if (at < step && !is_going && !IsExtra(prefix)) kept.push_back(prefix);
  }
  kept.erase(kept.begin(), kept.end() - static_cast<int64_t>(std::min(most, kept.size())));
  return kept;
}

// Returns the state file if every checkpoint that it names before `last` exists. Otherwise a name
// may be damaged, and its checkpoint would be missing.
std::optional<CheckpointState> WholeState(const std::string& model_dir, const std::string& last) {
  std::optional<CheckpointState> state = ReadableState(model_dir);
  if (!state) return state;
  for (const std::string& prefix : state->all_model_checkpoint_paths) {
    if (prefix == last) break;
    if (!CheckpointExists(prefix)) return std::nullopt;
  }
  return state;
}

}  // namespace

bool IsExtra(const std::string& prefix) {
  try {
    return BundleReader(prefix, /*as_written=*/true).Has(kCutEntry);
  } catch (const Error&) {
    return false;  // the reader of the checkpoint reports damage
  }
}

bool RemoveUnlessNeeded(const std::string& prefix) {
  const std::map<int64_t, std::string> there = CheckpointsIn(DirName(prefix));
  for (auto at = there.upper_bound(StepOfCheckpoint(prefix).value_or(-1)); at != there.end();
       ++at) {
    if (StandsOn(at->second, prefix)) return false;
  }
  return RemoveCheckpoint(prefix);
}

std::vector<std::string> NotedCheckpoints(const std::string& model_dir) {
  std::vector<std::string> prefixes;
  for (const std::string& name : NotedNames(model_dir)) {
    prefixes.push_back(JoinPath(model_dir, name));
  }
  return prefixes;
}

void NoteStuck(const std::string& model_dir, const std::string& prefix) {
  std::string lines = BaseName(prefix) + "\n";
  for (const std::string& noted : NotedCheckpoints(model_dir)) {
    if (noted != prefix) lines += BaseName(noted) + "\n";
  }
  WriteFileAtomically(RemovingPath(model_dir), lines, /*fsync=*/false);
}

void RemoveLeftovers(const std::string& model_dir) {
  const std::optional<CheckpointState> state = ReadableState(model_dir);
  const std::vector<std::string> names = ListDirectory(model_dir);
  for (const std::string& name : StrayShards(names)) {
    if (IsCheckpointFile(name)) RemoveFile(JoinPath(model_dir, name));
  }
  for (const std::string& name : names) {
    const std::string path = JoinPath(model_dir, name);
    if (IsCheckpointFile(name)) {
      if (IsTemporaryName(name) || IsPart(path, state)) RemoveFile(path);
    } else if (IsStateFile(name) && IsTemporaryName(name)) {
      RemoveFile(path);
    }
  }
  if (!DirectoryExists(PrivateDir(model_dir))) return;
  RemoveFile(SharedPath(model_dir));
  for (const std::string& name : ListDirectory(PrivateDir(model_dir))) {
    const std::string path = JoinPath(PrivateDir(model_dir), name);
    if (!IsTemporaryName(name) || path.starts_with(BadRecordsPath(model_dir))) continue;
    // A finished run writes its end without the lock.
    if (path.starts_with(RunJsonPath(model_dir)) && HasOtherWriter(name)) continue;
    RemoveFile(path);
  }
  // An evaluation in another process may write it.
  RemoveLostParts(BadRecordsPath(model_dir));
}

void RemoveLostParts(const std::string& path) {
  for (const std::string& name : ListDirectory(DirName(path))) {
    if (name.starts_with(BaseName(path)) && HasLostWriter(name)) {
      RemoveFile(JoinPath(DirName(path), name));
    }
  }
}

std::vector<std::string> RemoveNotedCheckpoints(const std::string& model_dir, int64_t step) {
  const std::optional<CheckpointState> state = ReadableState(model_dir);
  if (!state) return {};
  std::vector<std::string> later;
  bool all_gone = true;
  for (const std::string& name : NotedNames(model_dir)) {
    const std::string prefix = JoinPath(model_dir, name);
    const std::optional<int64_t> at = StepOfCheckpoint(prefix);
    if (!at) continue;
    if (IsNamedBy(*state, prefix)) {
      all_gone = false;
    } else if (*at > step && CheckpointExists(prefix)) {
      later.push_back(prefix);
    } else {
      all_gone = RemoveUnlessNeeded(prefix) && all_gone;
    }
  }
  if (all_gone && later.empty()) RemoveFile(RemovingPath(model_dir));
  return later;
}

std::vector<std::string> KeptCheckpoints(const std::string& model_dir, const std::string& restored,
                                         bool restored_is_extra, size_t most) {
  std::vector<std::string> kept;
  if (const std::optional<CheckpointState> state = WholeState(model_dir, restored)) {
    for (const std::string& prefix : state->all_model_checkpoint_paths) {
      if (prefix == restored) break;
      // The saver removes superfluous checkpoints from this list, so it never contains those of
      // another folder, which the state file of a copied run may name.
      if (IsOf(model_dir, prefix)) kept.push_back(prefix);
    }
  } else if (const std::optional<int64_t> step = StepOfCheckpoint(restored)) {
    const size_t all = std::max<size_t>(most, 1);
    kept = NewestBefore(model_dir, *step, restored_is_extra ? all : all - 1);
  }
  if (!restored_is_extra && IsOf(model_dir, restored)) kept.push_back(restored);
  return kept;
}

void TidyFinishedRun(const std::string& model_dir, const std::string& newest, size_t most,
                     bool fsync) {
  const std::optional<CheckpointState> state = WholeState(model_dir, newest);
  if (!state || !NamesAsNewest(*state, newest)) {
    WriteCheckpointState(model_dir,
                         {.model_checkpoint_path = newest,
                          .all_model_checkpoint_paths = KeptCheckpoints(
                              model_dir, newest, /*restored_is_extra=*/false, most)},
                         kCheckpointState, fsync);
  }
  RemoveNotedCheckpoints(model_dir, INT64_MAX);
  RemoveLeftovers(model_dir);
}

}  // namespace tpuest
