#include "core/estimator/export_folder.h"

#include <unistd.h>

#include "core/base/error.h"
#include "core/base/files.h"

namespace tpuest {
namespace {

constexpr int kTries = 10;

}  // namespace

ExportFolder::ExportFolder(const std::string& base, double now, Log& log)
    : made_base_(!DirectoryExists(base)), base_(base) {
  auto second = static_cast<int64_t>(now);
  for (int attempt = 1; attempt <= kTries; ++attempt, ++second) {
    path_ = JoinPath(base, std::to_string(second));
    temporary_ = JoinPath(base, fmt::format("temp-{}", second));
    if (!DirectoryExists(path_) && !DirectoryExists(temporary_)) {
      MakeDirectories(temporary_);
      return;
    }
    log.Warning("Directory {} already exists; retrying (attempt {}/{})", path_, attempt, kTries);
  }
  throw Error(Code::kResource,
              fmt::format("{}: no free name for an export after {} tries", base, kTries),
              "name another export_dir_base");
}

ExportFolder::~ExportFolder() {
  if (temporary_.empty()) return;
  RemoveTree(temporary_);
  if (made_base_) ::rmdir(base_.c_str());  // only if nothing else came to be in it
}

std::string ExportFolder::Commit(bool fsync) {
  RenameFolder(temporary_, path_, fsync);
  temporary_.clear();
  return path_;
}

}  // namespace tpuest
