#pragma once
// Counts of right and wrong predictions at each of many thresholds, as sums in local variables.
// Private to the metrics.

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The counts, all float64. A prediction is positive if it exceeds the threshold, a label if it is
// not 0.
struct ThresholdCounts {
  Value true_positives;   // [n]
  Value false_positives;  // [n]
  Value positives;        // [1], of labels
  Value negatives;        // [1], of labels
  Node* update = nullptr;
};

// Makes the counts in "<name>/true_positives", .... predictions and labels [B, D], weights [B, 1]
// or [B, D] or not valid(); each element counts as an example.
[[nodiscard]] ThresholdCounts CountAtThresholds(Graph& graph, const std::string& name,
                                                Value predictions, Value labels, Value weights,
                                                const std::vector<float>& thresholds);

// Returns n thresholds: `first`, i / (n - 1), ..., `last`.
[[nodiscard]] std::vector<float> EvenThresholds(int n, double first, double last);

}  // namespace tpuest::nn
