#pragma once
// What this machine has and what it lets a process have, as Linux says it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

struct DiskSpace {
  std::string path;  // that exists: the folder, or the nearest above it
  uint64_t free = 0;
  bool writable = false;
  std::string type;  // of network file systems: "nfs"; empty: a local one
};

struct Machine {
  std::string system;                // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0, x86_64"
  std::string processor;             // "AMD EPYC 9R14"
  int cores = 0;                     // that are on
  int usable_cores = 0;              // that this process may run on
  std::optional<double> core_quota;  // of the control group
  uint64_t memory = 0;               // bytes
  uint64_t available = 0;
  std::optional<uint64_t> memory_limit;   // of the control group
  std::optional<uint64_t> address_space;  // ulimit -v
  std::optional<uint64_t> open_files;     // ulimit -n; nullopt: any number
  std::string huge_pages;                 // "always", "madvise", "never"; empty: not known
};

[[nodiscard]] Machine ThisMachine();
[[nodiscard]] DiskSpace DiskAt(const std::string& folder);

// "max 100000" -> nullopt, "150000 100000" -> 1.5: cpu.max of a control group.
[[nodiscard]] std::optional<double> QuotaOf(const std::string& cpu_max);
// "always [madvise] never" -> "madvise".
[[nodiscard]] std::string ChosenOf(const std::string& choices);
// Text in which the home folder is "~" and no folder below /home names its user.
[[nodiscard]] std::string WithoutNames(std::string text, const std::string& home);

}  // namespace tpuest::cli
