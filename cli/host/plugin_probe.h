#pragma once
// Tries whether a device's plugin starts, in a process of its own: a plugin may abort or hang.

#include <string>

namespace tpuest::cli {

struct PluginProbe {
  std::string device;  // "cpu-xla"
  std::string path;    // empty: there is no plugin
  bool starts = false;
  int devices = 0;
  std::string version;  // the plugin's own word for its version
  std::string message;  // the reason why it does not start; empty: it starts
};

// Starts the plugin in a child process and waits at most `deadline_secs` for it; then the child is
// killed and `message` says so. Throws nothing for a plugin that fails. No thread may run beside
// the caller, because the process forks.
[[nodiscard]] PluginProbe ProbePlugin(const std::string& device, double deadline_secs);

}  // namespace tpuest::cli
