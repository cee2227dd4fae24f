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

// The file that this process runs; "" where the system does not say.
[[nodiscard]] std::string ProgramPath();

// The plugin of a device: "pjrt:PATH" as it says; "cpu-xla", "cuda" or "tpu" where they are found
// first: in $TPUEST_PLUGINS, in the folder that `./dev plugins` fills
// (${XDG_CACHE_HOME:-$HOME/.cache}/tpuest/plugins), in the packages of a Python environment: that
// of $VIRTUAL_ENV, of $CONDA_PREFIX, and the one in which the program is installed, as
// PREFIX/bin/tpuest or in its packages. Error kUsage: where it looked, and what fetches the plugin;
// or which devices there are.
[[nodiscard]] std::string FindPjrtPlugin(std::string_view device,
                                         const Environment& environment = SystemEnvironment,
                                         const std::string& program = ProgramPath());

// Whether a plugin is one of a device, by its file's name: "cpu" (XLA's) or "tpu" (libtpu).
[[nodiscard]] bool IsPluginOf(std::string_view device, std::string_view path);

}  // namespace tpuest
