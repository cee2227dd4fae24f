#pragma once
// The trials of a sweep are a pure function of its grids, distributions and seed.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tpuest::cli {

struct SweepSpace {
  std::vector<std::string> grid;    // "KEY=V1,V2"
  std::vector<std::string> random;  // "KEY=uniform(0,1)"
  std::optional<int64_t> draws;     // draws for each combination of the grids; needs `random`
  uint64_t seed = 0;
};

struct Trial {
  int64_t index = 0;
  std::string name;                                         // name of its folder: "trial_007"
  std::vector<std::pair<std::string, std::string>> values;  // key and value, as on a command line

  // Each value as "KEY=VALUE".
  [[nodiscard]] std::vector<std::string> Overrides() const;
};

// All trials, draws outermost and the last grid innermost, so that a sweep with more draws begins
// with the trials of one with fewer. Error kUsage for an invalid grid or distribution, for a
// repeated key, and for more than 10,000 trials.
[[nodiscard]] std::vector<Trial> ExpandTrials(const SweepSpace& space);

// Splits at commas outside quotes and brackets: "[1,2],[3]" has two values.
[[nodiscard]] std::vector<std::string> SplitValues(std::string_view text);

}  // namespace tpuest::cli
