#include "core/estimator/export/export_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/base/error.h"
#include "core/base/files.h"

namespace tpuest {
namespace {

constexpr int kTries = 10;
constexpr std::string_view kUnfinished = "temp-";  // and the seconds

}  // namespace

ExportFolder::ExportFolder(const std::string& base, double now, Log& log)
    : made_base_(!DirectoryExists(base)), base_(base) {
  auto second = static_cast<int64_t>(now);
  for (int attempt = 1; attempt <= kTries; ++attempt, ++second) {
    path_ = JoinPath(base, std::to_string(second));
    temporary_ = JoinPath(base, fmt::format("{}{}", kUnfinished, second));
    if (!DirectoryExists(path_) && !DirectoryExists(temporary_) && Make()) return;
    log.Warning("Directory {} already exists; retrying (attempt {}/{})", path_, attempt, kTries);
  }
  throw Error(Code::kResource,
              fmt::format("{}: no free name for an export after {} tries", base, kTries),
              "name another export_dir_base");
}

// Another process may have taken the folder for one that was left, before it was locked.
bool ExportFolder::Make() {
  MakeDirectories(temporary_);
  try {
    lock_ = FileLock::TryAcquireFolder(temporary_);
  } catch (const Error&) {
    return DirectoryExists(temporary_);  // where there are no locks nobody removes it
  }
  return lock_ != nullptr && DirectoryExists(temporary_);
}

ExportFolder::~ExportFolder() {
  if (temporary_.empty()) return;
  RemoveTree(temporary_);
  if (made_base_) ::rmdir(base_.c_str());  // only if nothing else came to be in it
}

std::string ExportFolder::Commit(bool fsync) {
  RenameFolder(temporary_, path_, fsync);
  temporary_.clear();
  lock_.reset();
  return path_;
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
    if (!name.starts_with(kUnfinished)) continue;
    const std::string path = JoinPath(base, name);
    try {
      if (FileLock::TryAcquireFolder(path) != nullptr) RemoveTree(path);
    } catch (const Error&) {
      continue;  // it cannot be told whose it is
    }
  }
}

void RemoveExport(const std::string& path) {
  const std::string base = DirName(path);
  const std::string unfinished = JoinPath(base, fmt::format("{}{}", kUnfinished, BaseName(path)));
  const bool is_renamed = ::rename(path.c_str(), unfinished.c_str()) == 0;
  RemoveTree(is_renamed ? unfinished : path);
}

double TimeOfNewest(const std::string& base, double now) {
  const std::vector<std::string> paths = ExportsIn(base);
  if (paths.empty()) return now;
  return std::max(now, std::stod(BaseName(paths.back())) + 1);
}

}  // namespace tpuest
