#include "core/io/checkpoint_state.h"

#include <algorithm>
#include <filesystem>

#include "core/base/process/files.h"
#include "core/base/whole_number.h"
#include "core/io/bundle.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

std::string Relative(const std::string& folder, const std::string& prefix) {
  if (DirName(prefix) == folder) return BaseName(prefix);
  const std::string inside = folder.ends_with('/') ? folder : folder + "/";
  if (!folder.empty() && prefix.starts_with(inside)) return prefix.substr(inside.size());
  return std::filesystem::absolute(prefix).string();
}

}  // namespace

std::string CheckpointStatePath(const std::string& folder) {
  return JoinPath(folder, kCheckpointState);
}

std::optional<CheckpointState> ReadCheckpointState(const std::string& folder,
                                                   std::string_view name) {
  const std::string path = JoinPath(folder, name);
  const std::optional<std::string> text = ReadFileIfThere(path);
  if (!text) return std::nullopt;
  pb::CheckpointState proto;
  FromText(*text, proto, path, Code::kCheckpoint);
  CheckpointState state;
  if (!proto.model_checkpoint_path().empty()) {
    state.model_checkpoint_path = JoinPath(folder, proto.model_checkpoint_path());
  }
  for (const std::string& prefix : proto.all_model_checkpoint_paths()) {
    state.all_model_checkpoint_paths.push_back(JoinPath(folder, prefix));
  }
  state.all_model_checkpoint_timestamps = {proto.all_model_checkpoint_timestamps().begin(),
                                           proto.all_model_checkpoint_timestamps().end()};
  if (proto.last_preserved_timestamp() != 0) {
    state.last_preserved_timestamp = proto.last_preserved_timestamp();
  }
  return state;
}

std::optional<CheckpointState> ReadableState(const std::string& folder, std::string_view name) {
  try {
    std::optional<CheckpointState> state = ReadCheckpointState(folder, name);
    if (state && state->model_checkpoint_path.empty()) return std::nullopt;
    return state;
  } catch (const Error& error) {
    if (error.code() != Code::kCheckpoint) throw;
    return std::nullopt;
  }
}

void WriteCheckpointState(const std::string& folder, const CheckpointState& state,
                          std::string_view name, bool fsync) {
  pb::CheckpointState proto;
  proto.set_model_checkpoint_path(Relative(folder, state.model_checkpoint_path));
  for (const std::string& prefix : state.all_model_checkpoint_paths) {
    proto.add_all_model_checkpoint_paths(Relative(folder, prefix));
  }
  for (const double seconds : state.all_model_checkpoint_timestamps) {
    proto.add_all_model_checkpoint_timestamps(seconds);
  }
  proto.set_last_preserved_timestamp(state.last_preserved_timestamp.value_or(0));
  WriteFileAtomically(JoinPath(folder, name), ToText(proto), fsync);
}

std::string CheckpointStateText(const std::string& folder) {
  return ReadFileIfThere(CheckpointStatePath(folder)).value_or("");
}

std::optional<LatestNamed> ReadLatest(const std::string& folder) {
  while (true) {
    const std::string text = CheckpointStateText(folder);
    const std::optional<CheckpointState> state = ReadCheckpointState(folder);
    if (!state || state->model_checkpoint_path.empty()) return std::nullopt;
    if (CheckpointExists(state->model_checkpoint_path)) {
      return LatestNamed{*state, state->model_checkpoint_path};
    }
    if (CheckpointStateText(folder) != text) continue;  // a trainer has saved a newer checkpoint
    const std::vector<std::string>& all = state->all_model_checkpoint_paths;
    const auto found = std::find_if(all.rbegin(), all.rend(), CheckpointExists);
    if (found != all.rend()) return LatestNamed{*state, *found};
    const std::string path = CheckpointStatePath(folder);
    throw Error(
        Code::kCheckpoint,
        fmt::format("{}: names {}, and no checkpoint that it names is there", path,
                    state->model_checkpoint_path),
        fmt::format("bring the files back, or remove {} to start from the beginning", path));
  }
}

std::optional<std::string> LatestCheckpoint(const std::string& folder) {
  std::optional<LatestNamed> latest = ReadLatest(folder);
  if (!latest) return std::nullopt;
  return std::move(latest->prefix);
}

std::string CheckpointPrefix(const std::string& path) {
  for (const std::string_view ending : {kIndexEnding, kMetaGraphEnding}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  const size_t data = path.rfind(kDataEnding);
  const bool in_name = data != std::string::npos && path.find('/', data) == std::string::npos;
  return in_name ? path.substr(0, data) : path;
}

std::string MetaGraphPath(const std::string& prefix) {
  return fmt::format("{}{}", prefix, kMetaGraphEnding);
}

bool CheckpointExists(const std::string& prefix) { return FileExists(BundleIndexPath(prefix)); }

bool RemoveCheckpoint(const std::string& prefix) {
  bool is_gone = RemoveFile(BundleIndexPath(prefix));
  const std::string folder = DirName(prefix).empty() ? "." : DirName(prefix);
  const std::string data = fmt::format("{}{}", BaseName(prefix), kDataEnding);
  for (const std::string& name : ListDirectory(folder)) {
    if (name.starts_with(data) && !RemoveFile(JoinPath(folder, name))) is_gone = false;
  }
  return RemoveFile(MetaGraphPath(prefix)) && is_gone;
}

std::optional<int64_t> StepOfCheckpoint(std::string_view prefix) {
  const size_t dash = prefix.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  return WholeNumber<int64_t>(prefix.substr(dash + 1));
}

}  // namespace tpuest
