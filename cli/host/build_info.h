#pragma once
// What the program was built with.

#include <string_view>
#include <utility>
#include <vector>

namespace tpuest::cli {

struct BuildInfo {
  std::string_view version;                                              // "0.1.0"
  std::string_view march;                                                // as -march= has it
  std::string_view compiler;                                             // "gcc 12.2.0"
  std::string_view type;                                                 // "release"
  std::vector<std::pair<std::string_view, std::string_view>> libraries;  // name and version
};

[[nodiscard]] const BuildInfo& ThisBuild();

}  // namespace tpuest::cli
