#include "core/base/process/mounted.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <string_view>

#include "core/base/process/files.h"

namespace tpuest {
namespace {

bool PutInto(const std::string& path, int flags, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
  if (fd < 0) return false;
  const bool is_written = ::write(fd, bytes.data(), bytes.size()) == std::ssize(bytes);
  return ::close(fd) == 0 && is_written;
}

// The few bytes that a tried file has; "" where it cannot be read.
std::string BytesIn(const std::string& path) {
  char bytes[8];
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const ssize_t n = ::read(fd, bytes, sizeof bytes);
  ::close(fd);
  return {bytes, static_cast<size_t>(n < 0 ? 0 : n)};
}

// A folder that cannot be written to is taken to have all, so that its own error is told.
FolderAbilities Tried(const std::string& folder) {
  FolderAbilities abilities{.is_mounted = true};
  const std::string first = JoinPath(folder, fmt::format("tried.tmp.{}", ::getpid()));
  const std::string second = JoinPath(folder, fmt::format("tried-too.tmp.{}", ::getpid()));
  if (PutInto(first, O_TRUNC, "a") && PutInto(second, O_TRUNC, "b")) {
    abilities.renames = ::rename(second.c_str(), first.c_str()) == 0 && BytesIn(first) == "b";
    const std::string before = BytesIn(first);
    abilities.appends = PutInto(first, O_APPEND, "c") && BytesIn(first) == before + "c";
  }
  RemoveFile(first);
  RemoveFile(second);
  return abilities;
}

}  // namespace

FolderAbilities AbilitiesOf(const std::string& folder) {
  const std::string above = DirName(folder);
  // What was tried, by file system: it stays as it is.
  static std::mutex mutex;
  static std::map<dev_t, FolderAbilities> tried;
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) {
    if (errno != ENOENT || folder == above || folder == ".") return {};
    return AbilitiesOf(above.empty() ? "." : above);
  }
  if (system.f_type != FUSE_SUPER_MAGIC) return {};
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return {};
  const std::lock_guard lock(mutex);
  const auto known = tried.find(info.st_dev);
  if (known != tried.end()) return known->second;
  return tried.emplace(info.st_dev, Tried(folder)).first->second;
}

FolderAbilities AbilitiesAt(const std::string& path) {
  const std::string folder = DirName(path);
  return AbilitiesOf(folder.empty() ? "." : folder);
}

}  // namespace tpuest
