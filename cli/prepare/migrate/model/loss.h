#pragma once
// Finds the loss of a model_fn's graph, and the head that has the same.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

enum class LossKind { kSoftmax, kSigmoid, kSquared };

struct MigratedLoss {
  LossKind kind = LossKind::kSoftmax;
  const SeenNode* node = nullptr;  // the op that takes the logits
  size_t input = 0;                // index of the logits among its inputs
  bool is_sum = false;             // the sum of the examples' losses, not their mean
  double label_smoothing = 0;
  std::vector<std::string> unknown;
};

// All that may be the loss, the likeliest first; empty: there is none.
[[nodiscard]] std::vector<MigratedLoss> FindLosses(const SeenGraph& graph);

// The tensor that a head's loss compares with the labels: logits, or a regression's predictions.
// Empty: no loss of a premade estimator's head is in the graph.
[[nodiscard]] std::string HeadLogits(const SeenGraph& graph);

// The head as YAML: "{type: MultiClassHead, n_classes: 10}"; `logits` is their number, `words` are
// the classes' names as YAML, where labels are words.
[[nodiscard]] std::string HeadText(const MigratedLoss& loss, int64_t logits,
                                   const std::vector<std::string>& words);

}  // namespace tpuest::cli
