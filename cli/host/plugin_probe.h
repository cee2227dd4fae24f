#pragma once
// Tries whether a device's plugin starts, in a process of its own: a plugin may abort or hang.

#include <string>

namespace tpuest::cli {

struct PluginProbe {
  std::string device;  // "cpu-xla"
  std::string path;    // empty: there is no plugin
  bool starts = false;
  int devices = 0;
  std::string version;  // of the plugin, as it says
  std::string message;  // why it does not start
};

// Waits at most so long. No thread may run beside the caller.
[[nodiscard]] PluginProbe ProbePlugin(const std::string& device, double deadline_secs);

}  // namespace tpuest::cli
