#include "cli/host/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <map>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// The text of a file; empty where it cannot be read.
std::string Read(const std::string& path) {
  try {
    return ReadFileIfThere(path).value_or("");
  } catch (const Error&) {
    return "";
  }
}

// Finds the first line that begins with `key`, and returns the text after the separator.
std::string FieldOf(const std::string& text, std::string_view key) {
  for (const std::string& line : Split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find_first_not_of(" \t:=\"", key.size());
    if (at == std::string::npos) return "";
    const size_t end = line.find_last_not_of(" \t\"");
    return line.substr(at, end + 1 - at);
  }
  return "";
}

// Reads a field such as "16384 kB" of /proc/meminfo.
uint64_t BytesOfField(const std::string& text, std::string_view key) {
  return std::strtoull(FieldOf(text, key).c_str(), nullptr, 10) * 1024;
}

std::string SystemText() {
  utsname names = {};
  uname(&names);
  const std::string distribution = FieldOf(Read("/etc/os-release"), "PRETTY_NAME");
  return fmt::format("{}{}{} {}, {}", distribution, distribution.empty() ? "" : ", ", names.sysname,
                     names.release, names.machine);
}

// The folder of this process's control group (version 2).
std::string ControlGroup() {
  const std::string below = FieldOf(Read("/proc/self/cgroup"), "0::");
  const std::string folder = "/sys/fs/cgroup" + below;
  return DirectoryExists(folder) ? folder : "/sys/fs/cgroup";
}

// The smallest limit of the group and of the groups above it.
std::optional<uint64_t> MemoryLimit(std::string folder) {
  std::optional<uint64_t> least;
  while (folder.starts_with("/sys/fs/cgroup")) {
    const std::string text = Read(JoinPath(folder, "memory.max"));
    if (!text.empty() && !text.starts_with("max")) {
      const uint64_t limit = std::strtoull(text.c_str(), nullptr, 10);
      if (!least || limit < *least) least = limit;
    }
    folder = DirName(folder);
  }
  if (const std::string text = Read("/sys/fs/cgroup/memory/memory.limit_in_bytes"); !text.empty()) {
    // Version 1 writes a huge number for no limit.
    const uint64_t limit = std::strtoull(text.c_str(), nullptr, 10);
    if (limit < uint64_t{1} << 60) least = limit;
  }
  return least;
}

std::optional<double> CoreQuota(std::string folder) {
  std::optional<double> least;
  while (folder.starts_with("/sys/fs/cgroup")) {
    const auto quota = QuotaOf(Read(JoinPath(folder, "cpu.max")));
    if (quota && (!least || *quota < *least)) least = quota;
    folder = DirName(folder);
  }
  return least;
}

std::optional<uint64_t> Limit(decltype(RLIMIT_NOFILE) what) {
  rlimit limit = {};
  if (getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// Names a file system by the number that statfs gives; on these, locks and renames are not what
// they are on a local disk.
std::string NetworkType(int64_t type) {
  static const std::map<int64_t, std::string> kTypes = {
      {0x6969, "nfs"},      {0xFF534D42, "cifs"}, {0xFE534D42, "smb2"}, {0x0BD00BD0, "lustre"},
      {0x47504653, "gpfs"}, {0x65735546, "fuse"}, {0x00C36400, "ceph"}, {0x01021997, "9p"}};
  const auto found = kTypes.find(type & 0xFFFFFFFF);
  return found == kTypes.end() ? "" : found->second;
}

}  // namespace

std::optional<double> QuotaOf(const std::string& cpu_max) {
  const std::vector<std::string> words = Split(cpu_max, ' ');
  if (words.size() < 2 || words[0] == "max") return std::nullopt;
  const double period = std::strtod(words[1].c_str(), nullptr);
  if (!(period > 0)) return std::nullopt;
  return std::strtod(words[0].c_str(), nullptr) / period;
}

std::string ChosenOf(const std::string& choices) {
  const size_t begin = choices.find('[');
  const size_t end = choices.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return choices.substr(begin + 1, end - begin - 1);
}

std::string WithoutNames(std::string text, const std::string& home) {
  const auto replace = [&](const std::string& what) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      const size_t end = at + what.size();
      const bool is_whole = end == text.size() || text[end] == '/' || std::isalnum(text[end]) == 0;
      if (is_whole) text.replace(at, what.size(), "~");
    }
  };
  if (home.size() > 1) replace(home);
  const std::string homes = "/home/";
  for (size_t at = text.find(homes); at != std::string::npos; at = text.find(homes, at + 1)) {
    const size_t begin = at + homes.size();
    const size_t end = text.find_first_of("/ :'\"\n,)", begin);
    text.replace(begin, (end == std::string::npos ? text.size() : end) - begin, "~");
  }
  return text;
}

Machine ThisMachine() {
  const std::string memory = Read("/proc/meminfo");
  const std::string group = ControlGroup();
  return {.system = SystemText(),
          .processor = FieldOf(Read("/proc/cpuinfo"), "model name"),
          .cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
          .usable_cores = UsableCores(),
          .core_quota = CoreQuota(group),
          .memory = BytesOfField(memory, "MemTotal"),
          .available = BytesOfField(memory, "MemAvailable"),
          .memory_limit = MemoryLimit(group),
          .address_space = Limit(RLIMIT_AS),
          .open_files = Limit(RLIMIT_NOFILE),
          .huge_pages = ChosenOf(Read("/sys/kernel/mm/transparent_hugepage/enabled"))};
}

DiskSpace DiskAt(const std::string& folder) {
  std::string path = folder.empty() ? "." : folder;
  while (!DirectoryExists(path)) {
    const std::string above = DirName(path);
    path = above.empty() ? "." : above;
  }
  DiskSpace space{.path = path};
  struct statfs stats = {};
  if (statfs(path.c_str(), &stats) == 0) {
    space.free = static_cast<uint64_t>(stats.f_bavail) * static_cast<uint64_t>(stats.f_bsize);
    space.type = NetworkType(static_cast<int64_t>(stats.f_type));
  }
  space.writable = access(path.c_str(), W_OK) == 0;
  return space;
}

}  // namespace tpuest::cli
