#include "cli/run/record/mirror.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/process/write_permit.h"
#include "core/estimator/export/export_folder.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"

namespace tpuest::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLookEvery{1};
constexpr int kLooksPerCopy = 30;  // if no checkpoint arrives

// Returns true for files of the training process that are not part of the run.
bool StaysHere(const std::string& name) {
  const auto is = [&](const std::string& path) { return name == path.substr(2); };
  return IsTemporaryName(BaseName(name)) || is(LockPath(".")) || is(HeartbeatPath(".")) ||
         is(RendezvousPath(".")) ||
         name.find(fmt::format("/{}", kUnfinishedExport)) != std::string::npos;
}

bool IsState(const std::string& name) { return name == kCheckpointState || name == kBestState; }

// Ranks files for copying: a file that refers to others is copied after them.
int RankOf(const std::string& name) {
  const std::string base = BaseName(name);
  return base.ends_with(kIndexEnding) || base == SavedModelName(false) ||
                 base == SavedModelName(true)
             ? 1
             : 0;
}

std::string TextOf(const std::string& path) { return ReadFileIfThere(path).value_or(""); }

}  // namespace

RunCopy::Files RunCopy::In(const std::string& folder) {
  Files files;
  if (!DirectoryExists(folder)) return files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat info {};
    const std::string path = at->path().string();
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string name = path.substr(folder.size() + (folder.ends_with('/') ? 0 : 1));
    if (StaysHere(name)) continue;
    files[name] = {.bytes = info.st_size,
                   .changed_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
  }
  return files;
}

// A file of the same size that was written later in the other folder counts as a copy; small files
// that refer to others are compared.
void RunCopy::FindCopies(const Files& files) {
  is_first_ = false;
  for (const auto& [name, there] : In(to_)) {
    const auto here = files.find(name);
    if (here == files.end()) {
      const bool is_gone = IsCheckpointFile(name) || begun_.contains(name);
      if (is_gone) copies_[name] = there;  // to be removed
      continue;
    }
    if (there.bytes != here->second.bytes || there.changed_ns < here->second.changed_ns) continue;
    const bool decides = RankOf(name) > 0 || IsState(name);
    if (decides && ReadFile(JoinPath(from_, name)) != ReadFile(JoinPath(to_, name))) continue;
    copies_[name] = here->second;
  }
}

void RunCopy::Copy(const std::string& name, const Stamp& stamp) {
  const std::string from = JoinPath(from_, name);
  const std::string to = JoinPath(to_, name);
  if (!FileExists(from)) return;  // removed since
  const std::string bytes = ReadFile(from);
  MakeDirectories(DirName(to));
  WriteFileAtomically(to, bytes);
  if (RankOf(name) > 0 && ReadFile(to) != bytes) {
    throw Error(Code::kResource,
                fmt::format("{}: reading it back gives other bytes than were written", to));
  }
  copies_[name] = stamp;
  ++copied_;
}

bool RunCopy::HasAllOf(const std::string& state) const {
  const std::optional<CheckpointState> named = ReadableState(from_, state);
  if (!named) return false;
  const auto has = [this](const std::string& prefix) {
    const std::string index = BundleIndexPath(prefix);
    return copies_.contains(BaseName(index)) || !FileExists(index);
  };
  return has(named->model_checkpoint_path) &&
         std::all_of(named->all_model_checkpoint_paths.begin(),
                     named->all_model_checkpoint_paths.end(), has);
}

void RunCopy::WriteState(const std::string& name, const std::string& text) {
  const std::string to = JoinPath(to_, name);
  if (text.empty() || TextOf(to) == text || TextOf(JoinPath(from_, name)) != text) return;
  if (!HasAllOf(name)) return;
  WriteFileAtomically(to, text);
  copies_[name] = {};
  ++copied_;
}

void RunCopy::RemoveGone(const Files& files) {
  std::vector<std::string> gone;
  for (const auto& [name, stamp] : copies_) {
    const bool is_there = files.contains(name) || FileExists(JoinPath(from_, name));
    if (!is_there) gone.push_back(name);
  }
  std::sort(gone.begin(), gone.end(), [](const std::string& a, const std::string& b) {
    return std::tuple(-RankOf(a), a) < std::tuple(-RankOf(b), b);
  });
  for (const std::string& name : gone) {
    if (RemoveFile(JoinPath(to_, name))) copies_.erase(name);
    // Also removes folders that are empty afterwards, such as an export's.
    for (std::string folder = DirName(name); !folder.empty(); folder = DirName(folder)) {
      if (::rmdir(JoinPath(to_, folder).c_str()) != 0) break;
    }
  }
}

void RunCopy::Make() {
  copied_ = 0;
  const std::string checkpoint = TextOf(JoinPath(from_, kCheckpointState));
  const std::string best = TextOf(JoinPath(from_, kBestState));
  const Files files = In(from_);
  if (is_first_) FindCopies(files);
  for (const int rank : {0, 1}) {
    for (const auto& [name, stamp] : files) {
      if (RankOf(name) != rank || IsState(name)) continue;
      const auto copy = copies_.find(name);
      if (copy == copies_.end() || copy->second != stamp) Copy(name, stamp);
    }
  }
  WriteState(std::string(kBestState), best);
  WriteState(std::string(kCheckpointState), checkpoint);
  RemoveGone(files);
}

Mirror::Mirror(const std::string& model_dir, const std::string& to, Log& log)
    : model_dir_(model_dir), to_(to), log_(log), copy_(model_dir, to) {
  thread_ = std::thread([this] { Work(); });
}

Mirror::~Mirror() { Stop(); }

void Mirror::Stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Mirror::Finish() {
  Stop();
  try {
    copy_.Make();
    // A reader of the run may have written a file while it was copied.
    if (copy_.copied() > 0) copy_.Make();
  } catch (const Error& error) {
    throw Error(error.code() == Code::kData ? Code::kResource : error.code(),
                fmt::format("run_config.mirror: {}", error.message()),
                fmt::format("{} is complete; run the same command again to copy it", model_dir_))
        .Key("run_config.mirror");
  }
}

void Mirror::Work() {
  std::string copied_state;
  int looks = 0;
  bool is_told = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLookEvery, [this] { return ends_; })) {
    lock.unlock();
    try {
      std::string state = TextOf(JoinPath(model_dir_, kCheckpointState));
      if (state != copied_state || ++looks >= kLooksPerCopy) {
        copy_.Make();
        copied_state = std::move(state);
        looks = 0;
        is_told = false;
      }
    } catch (const Error& error) {
      if (!HasWritePermit()) return;
      if (!is_told) log_.Warning("run_config.mirror: {}; the copy is retried", error.message());
      is_told = true;
    }
    lock.lock();
  }
}

bool HasNoRun(const std::string& model_dir) {
  return CheckpointsIn(model_dir).empty() && !DirectoryExists(PrivateDir(model_dir));
}

void BringBack(const std::string& mirror, const std::string& model_dir, Log& log) {
  if (!HasNoRun(model_dir) || HasNoRun(mirror)) return;
  log.Info("{} has no run: copying it back from {}", model_dir, mirror);
  RunCopy(mirror, model_dir).Make();
}

}  // namespace tpuest::cli
