#pragma once
// Permutation importance (Breiman 2001): how much an evaluation worsens when a column's values are
// shuffled over the rows.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/look/explain/rows.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

struct Change {
  double mean = 0;
  double deviation = 0;  // of the repeats, with n - 1; 0 for one
};
struct Importance {
  std::string feature;
  std::map<std::string, Change> changes;  // by metric: with the column shuffled, less without
};
struct Importances {
  EvaluateResult evaluation;              // of the rows as they are
  std::map<std::string, double> metrics;  // its metrics of one value
  std::string by;                         // the metric that the features are sorted by
  std::vector<Importance> features;       // the most important first
};

struct ImportanceRequest {
  InputFn input_fn;
  EvaluateArgs args;  // publish is false
  int64_t most_rows = 0;
  int64_t repeats = 1;
  uint64_t seed = 0;
};

// Evaluates the input's rows, which stay in `rows`, and again for each feature and repeat. The
// shuffles are a function of seed, feature and repeat. Errors as Estimator::Evaluate's.
[[nodiscard]] Importances ImportancesOf(Estimator& estimator, const ImportanceRequest& request,
                                        KeptRows& rows);

// The order of a shuffle of n rows.
[[nodiscard]] std::vector<int64_t> ShuffledOrder(uint64_t seed, const std::string& feature,
                                                 int64_t repeat, int64_t n);

}  // namespace tpuest::cli
