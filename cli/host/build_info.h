#pragma once
// Describes the build of the program.

#include <string_view>
#include <utility>
#include <vector>

namespace tpuest::cli {

// All texts are compiled in and live as long as the program. The commit is empty if the sources are
// not a Git checkout; ./dev updates it at every build.
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
