#pragma once
// Counts of examples that are right and wrong at each of many thresholds, as sums in local
// variables. For the files of metrics.

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The counts, all float64. Positive is a prediction above the threshold, or a label that is not 0.
struct ThresholdCounts {
  Value true_positives;   // [n]
  Value false_positives;  // [n]
  Value positives;        // [1], labels
  Value negatives;        // [1]
  Node* update = nullptr;
};

// Makes the counts in "<name>/true_positives", .... predictions and labels [B, D], weights [B, 1]
// or [B, D] or not valid(); each element counts by itself.
[[nodiscard]] ThresholdCounts CountAtThresholds(Graph& graph, const std::string& name,
                                                Value predictions, Value labels, Value weights,
                                                const std::vector<float>& thresholds);

// Makes n thresholds: `first`, i / (n - 1), ..., `last`.
[[nodiscard]] std::vector<float> EvenThresholds(int n, double first, double last);

}  // namespace tpuest::nn
