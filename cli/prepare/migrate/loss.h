#pragma once
// The loss of a model_fn's graph, and the head that has the same.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

enum class LossKind { kSoftmax, kSigmoid, kSquared };

struct MigratedLoss {
  LossKind kind = LossKind::kSoftmax;
  const SeenNode* node = nullptr;  // the op that takes the logits,
  size_t input = 0;                // at this of its inputs
  bool is_sum = false;             // of the examples' losses, not their mean
  double label_smoothing = 0;
  std::vector<std::string> unknown;
};

// All that may be the loss, the likeliest first.
[[nodiscard]] std::vector<MigratedLoss> FindLosses(const SeenGraph& graph);

// As YAML: "{type: MultiClassHead, n_classes: 10}".
[[nodiscard]] std::string HeadText(const MigratedLoss& loss, int64_t logits);

}  // namespace tpuest::cli
