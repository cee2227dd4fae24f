#pragma once
// The distributions of a sweep's --random KEY=DIST.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::cli {

// uniform(a,b) and loguniform(a,b): a number from a to b; randint(a,b): a whole number from a to b,
// both included; choice(a,b,...): one of the values; normal(mean,stddev).
struct Distribution {
  std::string key;
  std::string name;
  std::vector<std::string> values;  // as they were written
  std::vector<double> numbers;      // of them, but for choice
};

// Of "KEY=uniform(0,1)". Error kUsage.
[[nodiscard]] Distribution ParseDistribution(std::string_view text);

// What the trial gets: a pure function of seed, trial and key. Numbers have six digits, so that
// the last bits of a machine's log and exp are not in them.
[[nodiscard]] std::string DrawValue(const Distribution& distribution, uint64_t seed, int64_t trial);

}  // namespace tpuest::cli
