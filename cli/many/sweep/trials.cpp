#include "cli/many/sweep/trials.h"

#include <algorithm>
#include <set>

#include "cli/many/sweep/draws.h"
#include "core/base/error.h"

namespace tpuest::cli {
namespace {

constexpr int64_t kMostTrials = 10'000;
// Minimum number of digits in a trial's name, so that a growing sweep keeps its folders.
constexpr size_t kDigits = 3;

struct Grid {
  std::string key;
  std::vector<std::string> values;
};

Grid ParseGrid(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(Code::kUsage, fmt::format("--grid {}: expected KEY=V1,V2,...", text),
                "--grid learning_rate=0.1,0.01");
  }
  Grid grid{text.substr(0, equals), SplitValues(std::string_view(text).substr(equals + 1))};
  std::set<std::string> seen;
  for (const std::string& value : grid.values) {
    if (value.empty()) {
      throw Error(Code::kUsage, fmt::format("--grid {}: a value is empty", text),
                  "write an empty text as \"\"");
    }
    if (!seen.insert(value).second) {
      throw Error(Code::kUsage, fmt::format("--grid {}: {} appears twice", text, value));
    }
  }
  if (grid.values.empty()) {
    throw Error(Code::kUsage, fmt::format("--grid {}: it has no values", text),
                "--grid learning_rate=0.1,0.01");
  }
  return grid;
}

void CheckKeys(const std::vector<Grid>& grids, const std::vector<Distribution>& distributions) {
  std::set<std::string> seen;
  const auto check = [&](const std::string& key) {
    if (seen.insert(key).second) return;
    throw Error(Code::kUsage, fmt::format("the sweep has two values for '{}'", key),
                "name each key in one --grid or --random");
  };
  for (const Grid& grid : grids) check(grid.key);
  for (const Distribution& distribution : distributions) check(distribution.key);
}

int64_t CountTrials(const std::vector<Grid>& grids, int64_t draws) {
  const auto check = [](int64_t count) {
    if (count <= kMostTrials) return;
    throw Error(Code::kUsage, "the sweep has more than 10,000 trials",
                "draw from the space instead: --random KEY=choice(...) --trials N");
  };
  int64_t count = draws;
  check(count);
  for (const Grid& grid : grids) {
    count *= static_cast<int64_t>(grid.values.size());
    check(count);
  }
  return count;
}

void CheckSpace(const SweepSpace& space) {
  if (space.grid.empty() && space.random.empty()) {
    throw Error(Code::kUsage, "the sweep has no key to vary",
                "--grid learning_rate=0.1,0.01, or --random 'learning_rate=loguniform(1e-4,1e-1)' "
                "--trials 8");
  }
  if (space.random.empty() == space.draws.has_value()) {
    throw Error(Code::kUsage,
                space.draws ? "--trials sets the number of random draws, but --random is missing"
                            : "--random needs a number of trials",
                space.draws ? "omit it: a grid has one trial per value" : "--trials 8");
  }
}

}  // namespace

std::vector<std::string> SplitValues(std::string_view text) {
  std::vector<std::string> values;
  if (text.empty()) return values;
  std::string value;
  char quote = 0;
  int depth = 0;
  for (const char c : text) {
    if (c == ',' && quote == 0 && depth == 0) {
      values.push_back(value);
      value.clear();
      continue;
    }
    value += c;
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')') {
      --depth;
    }
  }
  values.push_back(value);
  return values;
}

std::vector<std::string> Trial::Overrides() const {
  std::vector<std::string> overrides;
  overrides.reserve(values.size());
  for (const auto& [key, value] : values) overrides.push_back(key + "=" + value);
  return overrides;
}

std::vector<Trial> ExpandTrials(const SweepSpace& space) {
  CheckSpace(space);
  std::vector<Grid> grids;
  std::vector<Distribution> distributions;
  for (const std::string& text : space.grid) grids.push_back(ParseGrid(text));
  for (const std::string& text : space.random) distributions.push_back(ParseDistribution(text));
  CheckKeys(grids, distributions);
  const int64_t count = CountTrials(grids, space.draws.value_or(1));
  const size_t digits = std::max(kDigits, fmt::format("{}", count - 1).size());
  std::vector<Trial> trials;
  for (int64_t index = 0; index < count; ++index) {
    Trial trial{.index = index, .name = fmt::format("trial_{:0{}}", index, digits), .values = {}};
    int64_t rest = index;
    for (auto grid = grids.rbegin(); grid != grids.rend(); ++grid) {
      const auto size = static_cast<int64_t>(grid->values.size());
      trial.values.emplace_back(grid->key, grid->values[static_cast<size_t>(rest % size)]);
      rest /= size;
    }
    std::reverse(trial.values.begin(), trial.values.end());
    for (const Distribution& distribution : distributions) {
      trial.values.emplace_back(distribution.key, DrawValue(distribution, space.seed, index));
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace tpuest::cli
