#include "core/estimator/export/export_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/process/mounted.h"
#include "core/base/process/write_permit.h"
#include "core/io/saved_model_folder.h"

namespace tpuest {
namespace {

constexpr int kTries = 10;

// Returns the file without which a folder is not a SavedModel; "" if there is none.
std::string GraphOf(const std::string& folder) {
  for (const bool as_text : {false, true}) {
    std::string path = SavedModelPath(folder, as_text);
    if (FileExists(path)) return path;
  }
  return "";
}

}  // namespace

ExportFolder::ExportFolder(const std::string& base, double now, Log& log)
    : is_copied_(AbilitiesOf(base).is_mounted), made_base_(!DirectoryExists(base)), base_(base) {
  auto second = static_cast<int64_t>(now);
  for (int attempt = 1; attempt <= kTries; ++attempt, ++second) {
    path_ = JoinPath(base, std::to_string(second));
    temporary_ = JoinPath(base, fmt::format("{}{}", kUnfinishedExport, second));
    if (!DirectoryExists(path_) && !DirectoryExists(temporary_) && Make()) return;
    log.Warning("Directory {} already exists; retrying (attempt {}/{})", path_, attempt, kTries);
  }
  throw Error(Code::kResource,
              fmt::format("{}: no free name for an export after {} tries", base, kTries),
              "name another export_dir_base");
}

// Another process may have removed the folder as abandoned before it was locked.
bool ExportFolder::Make() {
  if (is_copied_) {
    temporary_ = MakeTemporaryFolder("tpuest-export");
    return true;
  }
  MakeDirectories(temporary_);
  try {
    lock_ = FileLock::TryAcquireFolder(temporary_);
  } catch (const Error&) {
    return DirectoryExists(temporary_);  // without locks no process removes it
  }
  return lock_ != nullptr && DirectoryExists(temporary_);
}

ExportFolder::~ExportFolder() {
  if (temporary_.empty()) return;
  RemoveTree(temporary_);
  if (made_base_) ::rmdir(base_.c_str());  // only if it is empty
}

std::string ExportFolder::Commit(bool fsync) {
  if (is_copied_) {
    CopyToBucket(fsync);
    RemoveTree(temporary_);
  } else {
    RenameFolder(temporary_, path_, fsync);
  }
  temporary_.clear();
  lock_.reset();
  return path_;
}

void ExportFolder::CopyToBucket(bool fsync) const {
  const std::string graph = GraphOf(temporary_);
  try {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_)) {
      const std::string file = entry.path().string();
      const std::string to = JoinPath(path_, file.substr(temporary_.size() + 1));
      if (entry.is_directory()) MakeDirectories(to);
      if (!entry.is_regular_file() || file == graph) continue;
      MakeDirectories(DirName(to));
      WriteFileAtomically(to, ReadFile(file), fsync);
    }
    if (graph.empty()) return;
    WriteFileAtomically(JoinPath(path_, BaseName(graph)), ReadFile(graph), fsync);
  } catch (const std::exception&) {
    if (HasWritePermit()) RemoveTree(path_);
    throw;
  }
}

std::vector<std::string> ExportsIn(const std::string& base) {
  std::vector<std::string> paths;
  if (!DirectoryExists(base)) return paths;
  for (const std::string& name : ListDirectory(base)) {
    const bool is_time =
        name.size() == 10 && name.find_first_not_of("0123456789") == std::string::npos;
    if (is_time) paths.push_back(JoinPath(base, name));
  }
  return paths;
}

void RemoveUnfinishedExports(const std::string& base) {
  if (!DirectoryExists(base)) return;
  for (const std::string& name : ListDirectory(base)) {
    if (!name.starts_with(kUnfinishedExport)) continue;
    const std::string path = JoinPath(base, name);
    try {
      if (FileLock::TryAcquireFolder(path) != nullptr) RemoveTree(path);
    } catch (const Error&) {
      continue;  // its owner cannot be determined
    }
  }
  if (!AbilitiesOf(base).is_mounted) return;
  for (const std::string& path : ExportsIn(base)) {
    if (GraphOf(path).empty()) RemoveTree(path);
  }
}

void RemoveExport(const std::string& path) {
  NeedWritePermit();
  const std::string base = DirName(path);
  const std::string unfinished =
      JoinPath(base, fmt::format("{}{}", kUnfinishedExport, BaseName(path)));
  const bool is_renamed =
      !AbilitiesOf(base).is_mounted && ::rename(path.c_str(), unfinished.c_str()) == 0;
  if (!is_renamed) RemoveFile(GraphOf(path));
  RemoveTree(is_renamed ? unfinished : path);
}

double TimeOfNewest(const std::string& base, double now) {
  const std::vector<std::string> paths = ExportsIn(base);
  if (paths.empty()) return now;
  return std::max(now, std::stod(BaseName(paths.back())) + 1);
}

}  // namespace tpuest
