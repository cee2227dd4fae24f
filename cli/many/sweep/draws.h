#pragma once
// The distributions of a sweep, --random KEY=DIST, and the values drawn from them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::cli {

// uniform(a,b) and loguniform(a,b) draw a number from a to b; randint(a,b) a whole number from a to
// b, both included; choice(a,b,...) one of the values; normal(mean,stddev) a number without bounds.
struct Distribution {
  std::string key;
  std::string name;
  std::vector<std::string> values;  // the arguments as they were written
  std::vector<double> numbers;      // the arguments' numbers; empty for choice
};

// Reads "KEY=uniform(0,1)" and, without characters that a shell interprets, "KEY=uniform:0,1".
// Error kUsage for another form or name, and for invalid bounds.
[[nodiscard]] Distribution ParseDistribution(std::string_view text);

// The value that a trial gets, as on a command line: a pure function of seed, trial and key.
// Numbers have six digits, so that they do not depend on the last bits of a machine's log and exp.
[[nodiscard]] std::string DrawValue(const Distribution& distribution, uint64_t seed, int64_t trial);

}  // namespace tpuest::cli
