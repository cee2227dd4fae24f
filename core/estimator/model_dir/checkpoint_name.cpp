#include "core/estimator/model_dir/checkpoint_name.h"

#include <cstdint>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/whole_number.h"
#include "core/estimator/model_dir/best_checkpoints.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"

namespace tpuest {
namespace {

bool IsStep(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// The path that `name` stands for: for a step, its checkpoint in model_dir, whether or not it
// exists; otherwise the name itself. A number too large for a step is a name.
std::string PathNamed(const std::string& name, const std::string& model_dir) {
  if (!IsStep(name)) return name;
  const std::optional<int64_t> step = WholeNumber<int64_t>(name);
  return step ? CheckpointAt(model_dir, *step) : name;
}

[[noreturn]] void ThrowNone(const std::string& path) {
  if (DirectoryExists(path)) {
    throw Error(Code::kCheckpoint, fmt::format("{}: this folder contains no checkpoint", path),
                "train first, or name a checkpoint's prefix");
  }
  const std::string folder = DirName(path);
  throw Error(
      Code::kCheckpoint, fmt::format("{}: there is no such checkpoint", path),
      DirectoryExists(folder)
          ? fmt::format("'tpuest inspect {}' lists the checkpoints", folder)
          : "name a prefix, such as runs/mnist/model.ckpt-1000, or a folder with checkpoints");
}

}  // namespace

bool IsNameInRun(std::string_view name) {
  return name == kLatest || name == kBestState || IsStep(name);
}

std::optional<std::string> FindCheckpoint(const std::string& path) {
  for (std::string prefix : {SavedModelVariables(path), CheckpointPrefix(path)}) {
    if (CheckpointExists(prefix)) return prefix;
  }
  return DirectoryExists(path) ? LatestCheckpoint(path) : std::nullopt;
}

std::optional<std::string> FindCheckpoint(const std::string& name, const std::string& model_dir) {
  if (name == kLatest) return LatestCheckpoint(model_dir);
  if (name == kBestState) return BestCheckpoint(model_dir);
  return FindCheckpoint(PathNamed(name, model_dir));
}

std::string ResolveCheckpoint(const std::string& path) {
  if (std::optional<std::string> found = FindCheckpoint(path)) return *std::move(found);
  ThrowNone(path);
}

std::string ResolveCheckpoint(const std::string& name, const std::string& model_dir) {
  if (std::optional<std::string> found = FindCheckpoint(name, model_dir)) return *std::move(found);
  ThrowNone(name == kLatest ? model_dir : CheckpointPrefix(PathNamed(name, model_dir)));
}

}  // namespace tpuest
