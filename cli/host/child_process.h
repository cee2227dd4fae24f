#pragma once
// This program again, as a child in a process group of its own.

#include <sys/types.h>

#include <string>
#include <vector>

namespace tpuest::cli {

// Starts this program with these words after its name; stdin is empty, stdout and stderr are added
// to the log. A child whose parent dies is sent SIGTERM, and so saves. No thread may run beside the
// caller. Error kResource where the machine refuses, kUsage for a log that cannot be written.
[[nodiscard]] pid_t StartChild(const std::vector<std::string>& words, const std::string& log_path);

// What a shell would say: the exit code, or 128 + n for signal n.
[[nodiscard]] int ExitCodeOf(int wait_status);

}  // namespace tpuest::cli
