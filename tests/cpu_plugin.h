#pragma once
// XLA's CPU plugin, for the tests that run on it.

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "core/backend/pjrt/plugin.h"
#include "core/base/error.h"

namespace tpuest {

// Its path, found as the program finds it. Where there is none the test program ends, as one that
// Meson counts as skipped: all of its cases need the plugin. Nothing is released then, so a case
// asks before it makes a temporary folder.
inline std::string CpuPlugin() {
  try {
    return FindPjrtPlugin("cpu-xla");
  } catch (const Error& error) {
    fmt::print("skipped: {}: ./dev plugins cpu\n", error.message());
    std::exit(77);
  }
}

}  // namespace tpuest
