#pragma once
// Finds the shared library that serves a device, and says how much of what it logs is shown.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Says whether what a plugin writes to the terminal itself is seen.
enum class PjrtLogging { kQuiet, kLoud };

// The value of an environment variable, or "".
using Environment = std::function<std::string(const char* name)>;
[[nodiscard]] std::string SystemEnvironment(const char* name);

// The plugin of a device: "pjrt:PATH" as it says; "cpu-xla", "cuda" or "tpu" where they are found
// first: in $TPUEST_PLUGINS, in the folder that `./dev plugins` fills
// (${XDG_CACHE_HOME:-$HOME/.cache}/tpuest/plugins), in the packages of the Python environment
// ($VIRTUAL_ENV, $CONDA_PREFIX). Error kUsage: where it looked, and what fetches the plugin; or
// which devices there are.
[[nodiscard]] std::string FindPjrtPlugin(std::string_view device,
                                         const Environment& environment = SystemEnvironment);

}  // namespace tpuest
