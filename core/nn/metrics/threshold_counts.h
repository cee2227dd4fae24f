#pragma once
// How many examples are right and wrong at each of many thresholds, as sums in local variables.
// For the files of metrics.

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// All float64. Positive is a prediction above the threshold, or a label that is not 0.
struct ThresholdCounts {
  Value true_positives;   // [n]
  Value false_positives;  // [n]
  Value positives;        // [1], labels
  Value negatives;        // [1]
  Node* update = nullptr;
};

// Counts in "<name>/true_positives", .... predictions and labels [B, D], weights [B, 1] or [B, D]
// or not valid(); each element counts by itself.
[[nodiscard]] ThresholdCounts CountAtThresholds(Graph& graph, const std::string& name,
                                                Value predictions, Value labels, Value weights,
                                                const std::vector<float>& thresholds);

// `first`, i / (n - 1), `last`: n thresholds.
[[nodiscard]] std::vector<float> EvenThresholds(int n, double first, double last);

}  // namespace tpuest::nn
