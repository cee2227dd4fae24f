#pragma once
// Tries to start a device's plugin in a separate process, because a plugin may abort or hang.

#include <string>

namespace tpuest::cli {

struct PluginProbe {
  std::string device;  // "cpu-xla"
  std::string path;    // empty if no plugin was found
  bool starts = false;
  int devices = 0;
  std::string version;  // the version that the plugin reports
  std::string message;  // why it does not start; empty if it starts
};

// Starts the plugin in a child process and waits at most `deadline_secs` for it; then the child is
// killed and `message` says so. Throws nothing for a plugin that fails. No other thread may run,
// because the process forks.
[[nodiscard]] PluginProbe ProbePlugin(const std::string& device, double deadline_secs);

}  // namespace tpuest::cli
