#pragma once
// Finds the shared library of a device's plugin.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Whether the lines that a plugin itself writes to the terminal are shown.
enum class PjrtLogging { kQuiet, kLoud };

// The value of an environment variable, or "".
using Environment = std::function<std::string(const char* name)>;
[[nodiscard]] std::string SystemEnvironment(const char* name);

// The executable file of this process; "" if the system does not report it.
[[nodiscard]] std::string ProgramPath();

// Returns the path of a device's plugin. "pjrt:PATH" names it directly. "cpu-xla", "cuda" and "tpu"
// are searched in this order: in $TPUEST_PLUGINS; in the folder that `./dev plugins` fills
// (${XDG_CACHE_HOME:-$HOME/.cache}/tpuest/plugins); in the packages of the Python environments of
// $VIRTUAL_ENV, of $CONDA_PREFIX, and of the program itself, which is PREFIX/bin/tpuest or in the
// packages. Throws kUsage, with the places it searched and how to get the plugin, or with the list
// of devices.
[[nodiscard]] std::string FindPjrtPlugin(std::string_view device,
                                         const Environment& environment = SystemEnvironment,
                                         const std::string& program = ProgramPath());

// Whether a plugin belongs to a device, judging by its file name: "cpu" (XLA's) or "tpu" (libtpu).
[[nodiscard]] bool IsPluginOf(std::string_view device, std::string_view path);

}  // namespace tpuest
