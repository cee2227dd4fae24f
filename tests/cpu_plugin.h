#pragma once
// XLA's CPU plugin, for tests that run on it.

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "core/backend/pjrt/plugin.h"
#include "core/base/error.h"

namespace tpuest {

// The plugin's path, found as the program finds it. Without a plugin the test program exits with
// Meson's code for skipped tests, because all of its cases need the plugin. The exit releases
// nothing, so a case calls this before it makes a temporary folder.
inline std::string CpuPlugin() {
  try {
    return FindPjrtPlugin("cpu-xla");
  } catch (const Error& error) {
    fmt::print("skipped: {}: ./dev plugins cpu\n", error.message());
    std::exit(77);
  }
}

}  // namespace tpuest
