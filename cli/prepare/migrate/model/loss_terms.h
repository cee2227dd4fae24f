#pragma once
// Finds what a model_fn adds to the loss of its head.

#include <string>
#include <vector>

#include "cli/prepare/migrate/model/loss.h"
#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct LossTerms {
  std::string text;                  // "l2_weight_decay: {rate: 0.01}"; empty: the job needs none
  std::vector<std::string> unknown;  // a sentence on each term that the job does not have
};

// The terms beside the head's loss, as the summary of the loss leads to them. An L2 penalty of one
// rate becomes the job's l2_weight_decay.
[[nodiscard]] LossTerms FindLossTerms(const SeenGraph& graph, const BundleReader& variables,
                                      const MigratedLoss& loss);

}  // namespace tpuest::cli
