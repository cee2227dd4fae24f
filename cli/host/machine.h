#pragma once
// The machine's resources and the limits of a process, read from Linux.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

// A disk; `free` is the number of bytes available to an unprivileged user.
struct DiskSpace {
  std::string path;  // the folder, or the nearest above it that exists
  uint64_t free = 0;
  bool writable = false;
  std::string type;  // such as "nfs"; empty for a local file system
};

struct Machine {
  std::string system;                     // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0, x86_64"
  std::string processor;                  // "AMD EPYC 9R14"
  int cores = 0;                          // cores that are on
  int usable_cores = 0;                   // cores that this process may run on
  std::optional<double> core_quota;       // cores that the control group allows: 1.5
  uint64_t memory = 0;                    // bytes
  uint64_t available = 0;                 // bytes
  std::optional<uint64_t> memory_limit;   // bytes that the control group allows
  std::optional<uint64_t> address_space;  // bytes; ulimit -v
  std::optional<uint64_t> open_files;     // ulimit -n; nullopt: any number
  std::string huge_pages;                 // "always", "madvise", "never"; empty: not known
};

// Reads /proc, /sys and the limits of the process. A value that cannot be read is 0, "" or nullopt;
// nothing is thrown.
[[nodiscard]] Machine ThisMachine();
// Returns the disk that `folder` is on, or would be on; "" is the working directory. Creates
// nothing.
[[nodiscard]] DiskSpace DiskAt(const std::string& folder);

// Reads cpu.max of a control group, in cores: "max 100000" -> nullopt, "150000 100000" -> 1.5.
[[nodiscard]] std::optional<double> QuotaOf(const std::string& cpu_max);
// Takes the word in brackets: "always [madvise] never" -> "madvise"; "" if none is in brackets.
[[nodiscard]] std::string ChosenOf(const std::string& choices);
// Replaces the home folder by "~", and also the user's name below /home, so that a report can be
// published.
[[nodiscard]] std::string WithoutNames(std::string text, const std::string& home);

}  // namespace tpuest::cli
