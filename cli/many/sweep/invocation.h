#pragma once
// The command line of `tpuest sweep`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

struct SweepInvocation : Invocation {
  std::vector<std::string> grid;    // --grid: "KEY=V1,V2", in order
  std::vector<std::string> random;  // --random: "KEY=uniform(0,1)"
  std::optional<int64_t> trials;    // --trials: draws for each point of the grid
  uint64_t seed = 0;
  int jobs = 1;                    // trials at a time
  std::optional<std::string> out;  // the sweep's folder
  std::optional<std::string> index;
  std::optional<std::string> metric;
  std::optional<std::string> mode;
};

}  // namespace tpuest::cli
