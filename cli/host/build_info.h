#pragma once
// The program tells what it was built with.

#include <string_view>
#include <utility>
#include <vector>

namespace tpuest::cli {

// All texts were fixed when the program was compiled and live as long as it. The commit is empty
// where the sources are no checkout of Git; ./dev keeps it true at every build.
struct BuildInfo {
  std::string_view version;                                              // "0.1.0"
  std::string_view commit;                                               // "3f2a9c81d0e4+changes"
  std::string_view march;                                                // value of -march=
  std::string_view compiler;                                             // "gcc 12.2.0"
  std::string_view type;                                                 // "release"
  std::vector<std::pair<std::string_view, std::string_view>> libraries;  // name and version
};

// The build of this program.
[[nodiscard]] const BuildInfo& ThisBuild();

}  // namespace tpuest::cli
