#include "core/backend/pjrt/plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/process/child_process.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

struct Plugin {
  std::string_view device;
  std::string_view file;  // in a folder of plugins
  // In a Python environment's packages. The CUDA plugin is named after CUDA's version.
  std::vector<std::string_view> packages;
  std::string_view fetch;  // how to get it
};

constexpr std::string_view kPath = "pjrt:";

const std::vector<Plugin>& Plugins() {
  static const std::vector<Plugin> plugins = {
      {"cpu-xla",
       "cpu/xla_cpu_pjrt.so",
       {"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
       "./dev plugins cpu, or pip install xla-cpu-pjrt"},
      {"cuda",
       "cuda/xla_cuda_plugin.so",
       {"xla_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
        "xla_plugins/xla_cuda12/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
       "pip install jax-cuda13-pjrt (or jax-cuda12-pjrt)"},
      {"tpu", "tpu/libtpu.so", {"libtpu/libtpu.so"}, "./dev plugins tpu, or pip install libtpu"},
  };
  return plugins;
}

// The prefix of the Python environment in which a program is installed: PREFIX of PREFIX/bin/tpuest
// or of PREFIX/lib/python3.11/site-packages/any/where; "" if it is in neither.
std::string PrefixOf(const std::string& program) {
  const size_t library = program.find("/lib/python3");
  if (library != std::string::npos) return program.substr(0, library);
  const std::string folder = DirName(program);
  return BaseName(folder) == "bin" ? DirName(folder) : "";
}

// The prefixes of Python environments, without duplicates.
std::vector<std::string> Prefixes(const Environment& environment, const std::string& program) {
  std::vector<std::string> prefixes;
  for (std::string& prefix :
       std::array{environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"), PrefixOf(program)}) {
    const bool is_known = std::ranges::find(prefixes, prefix) != prefixes.end();
    if (!prefix.empty() && !is_known) prefixes.push_back(std::move(prefix));
  }
  return prefixes;
}

// All paths to search, in order. They are patterns, because the paths of a Python environment
// contain its version, and the folder of packages is site-packages or, on Debian, dist-packages.
std::vector<std::string> PlacesOf(const Plugin& plugin, const Environment& environment,
                                  const std::string& program) {
  std::vector<std::string> places;
  const std::string own = environment("TPUEST_PLUGINS");
  if (!own.empty()) places.push_back(JoinPath(own, plugin.file));
  std::string cache = environment("XDG_CACHE_HOME");
  if (cache.empty()) cache = JoinPath(environment("HOME"), ".cache");
  places.push_back(JoinPath(JoinPath(cache, "tpuest/plugins"), plugin.file));
  for (const std::string& prefix : Prefixes(environment, program)) {
    for (const std::string_view package : plugin.packages) {
      places.push_back(JoinPath(JoinPath(prefix, "lib/python3*/*-packages"), package));
    }
  }
  return places;
}

}  // namespace

std::string SystemEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ProgramPath() { return ThisProgramFile(); }

std::string FindPjrtPlugin(std::string_view device, const Environment& environment,
                           const std::string& program) {
  // A path is returned unchecked; LoadPjrtPlugin checks the file.
  if (StartsWith(device, kPath) && device.size() > kPath.size()) {
    return std::string(device.substr(kPath.size()));
  }
  for (const Plugin& plugin : Plugins()) {
    if (plugin.device != device) continue;
    const std::vector<std::string> places = PlacesOf(plugin, environment, program);
    for (const std::string& place : places) {
      for (const std::string& path : Glob(place)) {
        if (FileExists(path)) return path;
      }
    }
    throw Error(Code::kUsage,
                fmt::format("no plugin found for the device '{}'; looked for {}", device,
                            Join(places, ", ")),
                fmt::format("get it with {}; or name its file: pjrt:PATH", plugin.fetch));
  }
  throw Error(Code::kUsage, fmt::format("there is no device '{}'", device),
              "devices with plugins: cpu-xla, cuda, tpu, or pjrt:PATH");
}

bool IsPluginOf(std::string_view device, std::string_view path) {
  return BaseName(path).find(device) != std::string::npos;
}

}  // namespace tpuest
